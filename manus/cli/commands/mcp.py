"""`manus mcp`: list the configured MCP servers, log in at them, or act as a server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from manus.cli.notes import print_note
from manus.cli.options import PORT, workspace_option

if TYPE_CHECKING:
    from manus.config.mcp_settings import McpServer
    from manus.config.settings import Settings
    from manus.tools.mcp.server import ServerClient

_HOST = "127.0.0.1"
_PORT = 8765


@click.group()
def mcp() -> None:
    """List MCP servers and their tools, log in, or act as a server."""


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
    from manus.prompts.formatting import flat
    from manus.runs.configuration import resolve_workspace
    from manus.tools.mcp.definitions import list_prompts, list_resources
    from manus.tools.mcp.references import describe_prompt, open_servers
    from manus.tools.mcp.tools import get_tools

    async with open_servers(settings, resolve_workspace(settings)) as (catalog, connected):
        for name, server_settings in settings.mcp.items():
            server = connected.get(name)
            state = _describe_state(server) + ", logged in" * _has_login(server_settings)
            sys.stdout.write(f"{name}  {server_settings.place}  {state}\n")
            if server is None or server.problem:
                continue
            for tool in get_tools(server, catalog):
                sys.stdout.write(
                    f"  {tool.name}  {flat(tool.definition.description or '')[:100]}\n"
                )
            for resource in await server.ask(list_resources):
                uri = resource.get("uri") or resource.get("uriTemplate")
                sys.stdout.write(
                    f"  @{name}:{uri}  {flat(resource.get('description') or '')[:100]}\n"
                )
            for prompt in await server.ask(list_prompts):
                about = flat(prompt.get("description") or "")[:100]
                sys.stdout.write(f"  {describe_prompt(name, prompt)}  {about}\n")
    return not any(server.problem for server in connected.values())


def _describe_state(server: ServerClient | None) -> str:
    from manus.prompts.formatting import flat
    from manus.tools.mcp.tools import is_on_demand

    if server is None:
        return "disabled"
    if server.problem:
        return f"not available: {flat(server.problem)}"
    return "ready, tools on demand" if is_on_demand(server) else "ready"


def _has_login(server: McpServer) -> bool:
    """Return whether a login at the server is stored. Blocking."""
    import os

    from manus.state.errors import SettingsError
    from manus.tools.mcp.oauth import login_address, read_login

    try:
        url = login_address(server.expand(os.environ))
    except SettingsError:  # a variable is not set, as the state says
        return False
    return url is not None and bool(read_login(url).access_token)


@mcp.command("login")
@click.argument("name", metavar="NAME")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=300,
    help="Seconds to log in in the browser. [default: 300]",
)
def login(name: str, timeout: float) -> int:
    """Log in at a server with OAuth, in a browser."""
    import asyncio

    server = _find_server(name)
    from manus.tools.mcp.transport import log_in_at

    asyncio.run(log_in_at(server, _show_login, timeout))
    print_note(f"You are logged in at the MCP server `{name}`.")
    return 0


def _show_login(address: str) -> None:
    import webbrowser

    from manus.cli.desktop import has_desktop

    print_note(f"Log in at this address, in a browser on this machine:\n{address}")
    if has_desktop():
        webbrowser.open(address)


@mcp.command("logout")
@click.argument("name", metavar="NAME")
def logout(name: str) -> int:
    """Remove the stored login at a server."""
    url = str(_find_server(name).url)
    from manus.tools.mcp.oauth import forget_login

    is_removed = forget_login(url)
    state = "is removed" if is_removed else "does not exist"
    print_note(f"The login at the MCP server `{name}` {state}.")
    return 0


def _find_server(name: str) -> McpServer:
    """Return the settings of a server at which a person can log in, with variables replaced.

    Raises:
        UsageError: there is no such server, it is a program, or its settings have a token.
    """
    import os

    settings = _settings()
    from manus.config.settings import FILE
    from manus.state.errors import UsageError
    from manus.tools.mcp.oauth import login_address

    if name not in settings.mcp:
        raise UsageError(f"There is no MCP server `{name}`; add it as `[mcp.{name}]` in {FILE}.")
    server = settings.mcp[name].expand(os.environ)
    if login_address(server) is None:
        reason = "has a token in its settings" if server.url else "is a program"
        raise UsageError(f"The MCP server `{name}` {reason}, so there is no login.")
    return server


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
