"""Network access of programs and tools: egress rules, the egress proxy, package registries."""
