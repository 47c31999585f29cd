"""Pin the tools of each MCP server on first use; a changed tool must be trusted again.

A description that was harmless when the server was configured may be replaced by a prompt injection
later. The pins are in the user's data folder, by the server's name: its tools with descriptions and
schemas for each command or address that it had.
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
"""The key of changes that wait for the user's approval."""
_PINNED_FIELDS = {"title", "description", "inputSchema", "annotations"}
"""The pinned fields of a tool. Records of older releases lack `annotations`."""


def select_trusted(name: str, server: McpServer, tools: list[types.Tool]) -> list[types.Tool]:
    """Return the tools that match their pins, and log the names of the others. Blocking.

    All tools are pinned when the server is used for the first time.
    """
    fingerprint = _fingerprint(server)
    record = read_record(_record_name(name))
    offered = {tool.name: tool.model_dump(mode="json", include=_PINNED_FIELDS) for tool in tools}
    pinned = record.get(fingerprint, {}) if record else offered
    pinned = {tool: _complete(pin, offered.get(tool)) for tool, pin in pinned.items()}
    changed = {tool: fields for tool, fields in offered.items() if pinned.get(tool) != fields}
    updated = (
        {**record, _PENDING: [fingerprint, changed]} if changed else {**record, fingerprint: pinned}
    )
    try:
        if updated != record:
            write_record(_record_name(name), updated)
    except OSError as error:
        log.warning("The tools of the MCP server `%s` cannot be pinned: %s.", name, error)
    if changed:
        reason = "has changed" if fingerprint in record else "is another program or address"
        descriptions = (f"`{t}` ({'changed' if t in pinned else 'new'})" for t in changed)
        log.warning(
            "The MCP server `%s` %s since it was first used, so %s cannot be called; "
            "say `manus trust --mcp %s` if that is all right.",
            *(name, reason, ", ".join(descriptions), name),
        )
    return [tool for tool in tools if tool.name not in changed]


def _complete(pinned: dict[str, Any], offered: dict[str, Any] | None) -> dict[str, Any]:
    """Return the pinned fields of a tool, with its current annotations if none were pinned."""
    if offered is None or "annotations" in pinned:
        return pinned
    return {**pinned, "annotations": offered["annotations"]}


def trust(name: str) -> dict[str, dict[str, Any]]:
    """Trust the pending changes of a server; return the changed tools by name. Blocking."""
    record = read_record(_record_name(name))
    if _PENDING not in record:
        return {}
    fingerprint, changed = record.pop(_PENDING)
    write_record(
        _record_name(name), {**record, fingerprint: {**record.get(fingerprint, {}), **changed}}
    )
    return dict(changed)


def forget(name: str) -> None:
    """Remove the pins of a server. Blocking."""
    write_record(_record_name(name), {})


def _fingerprint(server: McpServer) -> str:
    """Return a digest of how a server is reached; of its variables only the names count.

    A digest, because arguments may contain secrets.
    """
    identity = [server.command, server.args, sorted(server.env), server.directory, server.url]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def _record_name(name: str) -> str:
    return f"mcp-{quote(name, safe='')}"
