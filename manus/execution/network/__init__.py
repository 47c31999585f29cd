"""What programs and tools may reach: address rules, the egress proxy, package registries."""
