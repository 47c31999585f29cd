"""`manus mcp`: the MCP servers that agents use, and this program as such a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from manus.options import PORT, json_array, workspace_option

if TYPE_CHECKING:
    from manus.state.settings import Settings

_PORT = 8765


@click.group()
def mcp() -> None:
    """List the MCP servers and their tools, or be such a server."""


@mcp.command("list")
@json_array
def list_(json: bool) -> int:
    """Connect the configured servers and list their tools."""
    import asyncio

    settings = _settings()
    from manus.mcp.listing import list_servers

    return asyncio.run(list_servers(settings, as_json=json))


@mcp.command("serve")
@click.option("--http", is_flag=True, help="Streamable HTTP, at /mcp.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", help="(127.0.0.1)")
@click.option("--port", metavar="N", type=PORT, default=_PORT, help=f"({_PORT})")
@click.option("--profile", metavar="NAME", help="Whose tools are offered (manus).")
@workspace_option
def serve(http: bool, host: str, port: int, profile: str | None, workspace: str | None) -> int:
    """Offer our tools, `agent` and `flow` over stdin and stdout, or HTTP."""
    import asyncio

    settings = _settings()
    from manus.configuration import workspace_of
    from manus.mcp.serve import serve as serve_tools
    from manus.traces import sending_traces

    place = workspace_of(settings, workspace)
    address = (host, port) if http else None
    with sending_traces():
        return asyncio.run(serve_tools(settings, profile or settings.profile, place, address))


def _settings() -> Settings:
    """The settings, once it is known that there is the package for MCP.

    Raises:
        UsageError: it is not installed.
    """
    from manus.configuration import is_installed, read_settings
    from manus.logs import set_up_logging
    from manus.state.errors import UsageError
    from manus.tools.load_mcp_tools import NOT_INSTALLED

    if not is_installed("mcp"):
        raise UsageError(NOT_INSTALLED.replace("MCP servers are configured, but the", "The"))
    settings = read_settings()
    set_up_logging()
    return settings
