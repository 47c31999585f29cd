"""The tools of all servers of a session, in its catalogue."""

from __future__ import annotations

import asyncio
from functools import partial

from manus.state.mcp_settings import McpServer
from manus.tools.catalog import Catalog
from manus.tools.mcp.names import tool_name
from manus.tools.mcp.server import Server
from manus.tools.mcp.tool import McpTool, to_tool
from manus.tools.session import Session


async def update(catalog: Catalog, session: Session) -> list[Server]:
    """Bring the catalogue in line with what the servers offer now; the servers, in order.

    A server is connected the first time; one that cannot be reached is left out, and said in a
    line of the log.
    """
    chosen = {n: s for n, s in session.settings.mcp.items() if s.enabled}
    servers = [await obtain(n, s, session) for n, s in chosen.items()]
    await asyncio.gather(*(server.refresh() for server in servers if server.is_stale))
    for server in servers:
        if [tool.told for tool in _tools_of(server, catalog)] != server.tools:
            _replace(server, catalog, session)
    return servers


async def obtain(name: str, settings: McpServer, session: Session) -> Server:
    """The server of that name in a session; not connected yet if nobody has used it."""

    async def make() -> Server:
        return Server(name, settings, session.workspace)

    return await session.obtain(f"mcp:{name}", make)


def _tools_of(server: Server, catalog: Catalog) -> list[McpTool]:
    return [tool for tool in catalog if isinstance(tool, McpTool) and tool.server is server]


def _replace(server: Server, catalog: Catalog, session: Session) -> None:
    for tool in _tools_of(server, catalog):
        catalog.remove(tool.name)
    is_taken = partial(_is_taken, catalog)
    for told in server.tools:
        name = tool_name(server.name, told.name, is_taken)
        catalog.add(to_tool(told, name, server, session))


def _is_taken(catalog: Catalog, name: str) -> bool:
    return catalog.find(name) is not None
