"""What each server was when it was first used: a change is told, and counts once it is trusted.

A server's descriptions are read by the model as they are; one that was harmless when it was chosen
can say something else a week later. What is known of it lies in the user's own state folder, by
the server's name: for each place that it was at, its tools with their descriptions and schemas.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manus.state.files import make_private_folder, write_atomically
from manus.state.mcp_settings import McpServer

if TYPE_CHECKING:
    from mcp import types

log = logging.getLogger("manus")

Pin = dict[str, dict[str, Any]]
"""Tools by name."""


def trusted_tools(name: str, server: McpServer, tools: list[types.Tool]) -> list[types.Tool]:
    """The tools that are as they were; the names of the others are logged. Blocking.

    All are where the server was never used before. What has changed is kept, for `trust`.
    """
    file, place = _file(name), _place(server)
    known = _read(file)
    offered: Pin = {tool.name: _shown(tool) for tool in tools}
    moved = bool(known) and place not in known
    pinned = known.get(place, {}) if known else offered
    changed = {tool: shown for tool, shown in offered.items() if pinned.get(tool) != shown}
    pending = {"place": place, "tools": changed}
    if not known or (changed and known.get("") != pending):
        try:
            make_private_folder(file.parent)
            kept = {**known, "": pending} if known else {place: offered}
            write_atomically(file, json.dumps(kept).encode(), 0o600)
        except OSError as error:
            log.warning("What the MCP server `%s` is cannot be kept: %s.", name, error)
    if changed:
        what = "is another program or address now" if moved else "has changed"
        log.warning(
            "The MCP server `%s` %s since it was first used, so %s cannot be called; "
            "look at it, and say `manus trust --mcp %s` if it is all right.",
            *(name, what, ", ".join(_named(tool, pinned) for tool in changed), name),
        )
    return [tool for tool in tools if tool.name not in changed]


def trust(name: str) -> Pin | None:
    """Let the newest change of a server count; what changed, or None if nothing had. Blocking.

    Raises:
        OSError: it cannot be kept.
    """
    known = _read(_file(name))
    pending = known.pop("", None)
    if pending is None:
        return None
    place, changed = pending["place"], pending["tools"]
    known[place] = {**known.get(place, {}), **changed}
    write_atomically(_file(name), json.dumps(known).encode(), 0o600)
    return dict(changed)


def forget(name: str) -> None:
    """Know nothing of a server, as if it had never been used. Blocking.

    Raises:
        OSError: it cannot be forgotten.
    """
    _file(name).unlink(missing_ok=True)


def _named(tool: str, pinned: Pin) -> str:
    before = pinned.get(tool)
    return f"`{tool}` ({'new' if before is None else 'changed'})"


def _shown(tool: types.Tool) -> dict[str, Any]:
    about = {"title": tool.title, "description": tool.description, "schema": tool.inputSchema}
    return json.loads(json.dumps(about))  # type: ignore[no-any-return]


def _place(server: McpServer) -> str:
    """A digest: arguments may hold secrets. Of variables only the names count: values change."""
    place = [server.command, server.args, sorted(server.env), server.directory, server.url]
    return hashlib.sha256(json.dumps(place).encode()).hexdigest()


def _file(name: str) -> Path:
    from platformdirs import user_state_path

    readable = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40]
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return user_state_path("manus", appauthor=False) / "mcp" / f"{readable}-{digest}.json"


def _read(file: Path) -> dict[str, Any]:
    try:
        known = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):  # it was never used, or the file is damaged
        return {}
    return known if isinstance(known, dict) else {}
