"""The web without a browser: egress rules, search, page reader."""
