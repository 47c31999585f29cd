"""Adapters for the tools of other projects; the package itself needs none of them."""
