"""The path of a tool call: catalog, checks, approval, journal, truncation."""
