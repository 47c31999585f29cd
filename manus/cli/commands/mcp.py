"""`manus mcp`: list the configured MCP servers, or run manus as an MCP server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from manus.cli.notes import print_note
from manus.cli.options import PORT, workspace_option

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.tools.mcp.server import ServerClient

_HOST = "127.0.0.1"
_PORT = 8765


@click.group()
def mcp() -> None:
    """List MCP servers and their tools, or act as a server."""


@mcp.command("list")
def list_() -> int:
    """Connect to the configured servers and list their tools."""
    import asyncio

    settings = _settings()
    from manus.config.settings import FILE

    if not settings.mcp:
        print_note(f"No MCP server is configured; add one as `[mcp.NAME]` in {FILE}.")
    return 0 if asyncio.run(list_servers(settings)) else 1


async def list_servers(settings: Settings) -> bool:
    """Print the servers and their tools; return whether all enabled servers are available."""
    import tempfile

    from manus.calls.catalog import MCP, Catalog
    from manus.calls.session import Session
    from manus.config.profile import Profile
    from manus.config.run_settings import resolve_settings
    from manus.prompts.formatting import flat
    from manus.tools.mcp.tools import get_tools, update
    from manus.workspace.workspace import Workspace

    catalog = Catalog()
    profile = Profile("mcp", "Lists the servers.", (MCP,), "", "")
    with tempfile.TemporaryDirectory() as empty:
        workspace = Workspace(_existing_workspace(settings) or empty)
        session = Session(workspace, settings=resolve_settings(settings, profile=profile))
        try:
            connected = {server.name: server for server in await update(catalog, session)}
        finally:
            await session.close()
    for name, server_settings in settings.mcp.items():
        server = connected.get(name)
        sys.stdout.write(f"{name}  {server_settings.place}  {_describe_state(server)}\n")
        if server is None:
            continue
        for tool in get_tools(server, catalog):
            sys.stdout.write(f"  {tool.name}  {flat(tool.definition.description or '')[:100]}\n")
    return not any(server.problem for server in connected.values())


def _describe_state(server: ServerClient | None) -> str:
    from manus.prompts.formatting import flat
    from manus.tools.mcp.tools import is_on_demand

    if server is None:
        return "disabled"
    if server.problem:
        return f"not available: {flat(server.problem)}"
    return "ready, tools on demand" if is_on_demand(server) else "ready"


def _existing_workspace(settings: Settings) -> Path | None:
    """Return the workspace of a run here if it exists; listing servers creates none. Blocking."""
    from manus.runs.configuration import resolve_workspace

    folder = Path(resolve_workspace(settings)).expanduser()
    return folder if folder.is_dir() else None


@mcp.command("serve")
@click.option(
    "--http", is_flag=True, help="Serve Streamable HTTP at /mcp instead of stdin and stdout."
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    help="Address to listen on. [default: 127.0.0.1]",
)
@click.option(
    "--port", metavar="N", type=PORT, default=_PORT, help=f"Port to listen on. [default: {_PORT}]"
)
@click.option("--profile", metavar="NAME", help="Profile whose tools are served. [default: manus]")
@workspace_option
def serve(http: bool, host: str, port: int, profile: str | None, workspace: str | None) -> int:
    """Serve the tools of a profile, and `run` for a whole task, as an MCP server."""
    import asyncio

    settings = _settings()
    from manus.cli.logs import flush_traces
    from manus.mcp_server import serve as serve_tools
    from manus.runs.configuration import resolve_workspace

    folder = resolve_workspace(settings, workspace)
    address = (host, port) if http else None
    with flush_traces():
        return asyncio.run(serve_tools(settings, profile or settings.profile, folder, address))


def _settings() -> Settings:
    """Return the settings, after checking that the MCP package can be used.

    Raises:
        UsageError: the package cannot be used.
    """
    from manus.cli.logs import set_up_logging
    from manus.cli.settings import read_settings
    from manus.state.errors import UsageError
    from manus.tools.mcp import find_fault

    fault = find_fault()
    if fault is not None:
        raise UsageError(fault)
    settings = read_settings()
    set_up_logging()
    return settings
