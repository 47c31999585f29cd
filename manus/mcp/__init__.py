"""MCP from both sides on the command line: servers that we use, and us as a server."""
