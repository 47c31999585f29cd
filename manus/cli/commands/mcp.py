"""`manus mcp`: the MCP servers that agents use, and this program as such a server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from manus.cli.options import PORT, workspace_option

if TYPE_CHECKING:
    from manus.config.settings import Settings

_PORT = 8765


@click.group()
def mcp() -> None:
    """List the MCP servers and their tools, or be such a server."""


@mcp.command("list")
def list_() -> int:
    """Connect the configured servers and list their tools."""
    import asyncio

    settings = _settings()
    from manus.config.settings import FILE

    if not settings.mcp:
        sys.stderr.write(f"No MCP server is configured; `[mcp.NAME]` in {FILE} names one.\n")
    return 0 if asyncio.run(list_servers(settings)) else 1


async def list_servers(settings: Settings) -> bool:
    """Print the servers and what they offer; whether all that are not off can be used."""
    import tempfile

    from manus.config.profile import Profile
    from manus.execution.catalog import MCP, Catalog
    from manus.execution.session import Session
    from manus.execution.workspace import Workspace
    from manus.prompts.formatting import flat
    from manus.tools.mcp.tools import get_tools, update

    catalog = Catalog()
    asking = Profile("mcp", "Looks at the servers.", (MCP,), "", "")
    with tempfile.TemporaryDirectory() as empty:
        workspace = Workspace(_existing_workspace(settings) or empty)
        session = Session(workspace, profile=asking, settings=settings)
        try:
            connected = {server.name: server for server in await update(catalog, session)}
        finally:
            await session.close()
    for name, chosen in settings.mcp.items():
        server = connected.get(name)
        problem = server.problem if server else None
        state = f"not available: {flat(problem)}" if problem else "ready" if server else "off"
        sys.stdout.write(f"{name}  {chosen.place}  {state}\n")
        for tool in get_tools(server, catalog) if server else ():
            sys.stdout.write(f"  {tool.name}  {flat(tool.definition.description or '')[:100]}\n")
    return not any(server.problem for server in connected.values())


def _existing_workspace(settings: Settings) -> Path | None:
    """Return the workspace that a run would have here; looking at servers makes none. Blocking."""
    from manus.runs.configuration import resolve_workspace

    place = Path(resolve_workspace(settings)).expanduser()
    return place if place.is_dir() else None


@mcp.command("serve")
@click.option("--http", is_flag=True, help="Streamable HTTP, at /mcp.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", help="(127.0.0.1)")
@click.option("--port", metavar="N", type=PORT, default=_PORT, help=f"({_PORT})")
@click.option("--profile", metavar="NAME", help="Whose tools are offered (manus).")
@workspace_option
def serve(http: bool, host: str, port: int, profile: str | None, workspace: str | None) -> int:
    """Offer our tools, and `run` for a whole task, over stdin and stdout, or HTTP."""
    import asyncio

    settings = _settings()
    from manus.cli.logs import sending_traces
    from manus.mcp_server import serve as serve_tools
    from manus.runs.configuration import resolve_workspace

    place = resolve_workspace(settings, workspace)
    address = (host, port) if http else None
    with sending_traces():
        return asyncio.run(serve_tools(settings, profile or settings.profile, place, address))


def _settings() -> Settings:
    """The settings, once it is known that there is the package for MCP.

    Raises:
        UsageError: it is not installed.
    """
    from manus.cli.logs import set_up_logging
    from manus.cli.settings import read_settings
    from manus.runs.configuration import is_installed
    from manus.state.errors import UsageError
    from manus.tools.mcp import NOT_INSTALLED

    if not is_installed("mcp"):
        raise UsageError(NOT_INSTALLED.replace("MCP servers are configured, but the", "The"))
    settings = read_settings()
    set_up_logging()
    return settings
