"""Names of MCP tools as the model knows them: `mcp_<server>_<tool>`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

LONGEST = 64
"""Characters that providers take for a tool's name."""
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_SUFFIX = 7


def tool_name(server: str, tool: str, is_taken: Callable[[str], bool]) -> str:
    """The name of a server's tool: letters, digits, `_` and `-`, and no other tool's.

    One that had to be cut, or that would be another's, ends with a few digits made from what it
    stands for, so that it is the same in each run.
    """
    whole = f"mcp_{server}_{tool}"
    name = _OTHER.sub("_", whole)
    if len(name) <= LONGEST and not is_taken(name):
        return name
    for salt in range(1000):
        made = hashlib.sha256(f"{server}\0{tool}\0{salt or ''}".encode()).hexdigest()
        name = _OTHER.sub("_", whole)[: LONGEST - _SUFFIX] + "_" + made[: _SUFFIX - 1]
        if not is_taken(name):
            break
    return name
