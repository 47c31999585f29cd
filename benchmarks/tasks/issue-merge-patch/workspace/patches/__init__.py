"""JSON Merge Patch (RFC 7396)."""

from patches.difference import diff
from patches.merging import merge

__all__ = ["diff", "merge"]
