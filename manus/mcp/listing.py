"""The configured MCP servers, connected to see what they offer."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

from manus.report import print_json
from manus.state.profile import Profile
from manus.state.settings import FILE, Settings
from manus.text import flat
from manus.tools.catalog import MCP, Catalog
from manus.tools.mcp.tools import tools_of, update
from manus.tools.session import Session
from manus.tools.workspace import Workspace

_ASKING = Profile("mcp", "Looks at the servers.", (MCP,), "", "")


async def list_servers(settings: Settings, *, as_json: bool) -> int:
    """Print the servers and their tools; 1 if one cannot be used."""
    if not settings.mcp:
        sys.stderr.write(f"No MCP server is configured; `[mcp.NAME]` in {FILE} names one.\n")
    with tempfile.TemporaryDirectory() as folder:  # nothing of the user's is touched to look
        session = Session(Workspace(folder), profile=_ASKING, settings=settings)
        try:
            found = await _look(session)
        finally:
            await session.close()
    if as_json:
        print_json(found)
        return 1 if any(server["problem"] for server in found) else 0
    for server in found:
        state = "not available" if server["problem"] else "ready" if server["enabled"] else "off"
        lines = ["  ".join((server["name"], server["transport"], server["place"], state))]
        lines += [f"  {t['name']}  {flat(t['description'])[:100]}" for t in server["tools"]]
        sys.stdout.write("\n".join(lines) + "\n")
    return 1 if any(server["problem"] for server in found) else 0


async def _look(session: Session) -> list[dict[str, Any]]:
    catalog = Catalog()
    known = {server.name: server for server in await update(catalog, session)}
    found = []
    for name, settings in session.settings.mcp.items():
        server = known.get(name)
        tools = tools_of(server, catalog) if server is not None else []
        found.append(
            {
                "name": name,
                "transport": settings.kind,
                "place": settings.place,
                "enabled": settings.enabled,
                "problem": server.problem if server is not None else None,
                "tools": [
                    {"name": t.name, "description": t.told.description or t.told.title or ""}
                    for t in tools
                ],
            }
        )
    return found
