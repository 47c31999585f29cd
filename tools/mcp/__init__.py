"""Tools of MCP servers: connected when first needed, closed with the session.

It stands on the protocol's own SDK rather than on LangChain's adapter, which ties a connection to a
block of code, so that it cannot be made again in mid-run, and gives up a whole reply over one sound
in it. Nothing here is imported before a server is needed.
"""
