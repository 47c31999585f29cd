"""What each server was when it was first used: a change is told, and counts once it is trusted.

A description that was harmless when the server was chosen can say something else a week later. What
is known lies in the user's own folder, by the server's name: for each place that it was at (its
command or address), its tools with their descriptions and schemas.
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from manus.config.files import read_record, write_record
from manus.config.mcp_settings import McpServer

if TYPE_CHECKING:
    from mcp import types

log = logging.getLogger("manus")

_PENDING = "pending"
"""What has changed, and waits for a person's word."""
_TELLING = {"title", "description", "inputSchema", "annotations"}
"""What is pinned of a tool. Records of older releases lack `annotations`."""


def trusted_tools(name: str, server: McpServer, tools: list[types.Tool]) -> list[types.Tool]:
    """The tools that are as they were; the names of the others are logged. Blocking.

    All are where the server was never used before.
    """
    place = _place(server)
    known = read_record(_file(name))
    offered = {tool.name: tool.model_dump(mode="json", include=_TELLING) for tool in tools}
    pinned = known.get(place, {}) if known else offered
    pinned = {tool: _completed(about, offered.get(tool)) for tool, about in pinned.items()}
    changed = {tool: about for tool, about in offered.items() if pinned.get(tool) != about}
    now = {**known, _PENDING: [place, changed]} if changed else {**known, place: pinned}
    try:
        if now != known:
            write_record(_file(name), now)
    except OSError as error:
        log.warning("What the MCP server `%s` is cannot be kept: %s.", name, error)
    if changed:
        how = "has changed" if place in known else "is another program or address"
        what = (f"`{t}` ({'changed' if t in pinned else 'new'})" for t in changed)
        log.warning(
            "The MCP server `%s` %s since it was first used, so %s cannot be called; "
            "say `manus trust --mcp %s` if that is all right.",
            *(name, how, ", ".join(what), name),
        )
    return [tool for tool in tools if tool.name not in changed]


def _completed(pinned: dict[str, Any], offered: dict[str, Any] | None) -> dict[str, Any]:
    """Return what is pinned of a tool, with the annotations of today if none were pinned."""
    if offered is None or "annotations" in pinned:
        return pinned
    return {**pinned, "annotations": offered["annotations"]}


def trust(name: str) -> dict[str, dict[str, Any]]:
    """Let the newest change of a server count; the changed tools by name. Blocking."""
    known = read_record(_file(name))
    if _PENDING not in known:
        return {}
    place, changed = known.pop(_PENDING)
    write_record(_file(name), {**known, place: {**known.get(place, {}), **changed}})
    return dict(changed)


def forget(name: str) -> None:
    """Know nothing of a server, as if it had never been used. Blocking."""
    write_record(_file(name), {})


def _place(server: McpServer) -> str:
    """A digest: arguments may hold secrets. Of variables only the names count: values change."""
    place = [server.command, server.args, sorted(server.env), server.directory, server.url]
    return hashlib.sha256(json.dumps(place).encode()).hexdigest()


def _file(name: str) -> str:
    return f"mcp-{quote(name, safe='')}"
