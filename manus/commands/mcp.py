"""`manus mcp`: the MCP servers that agents use, and this program as such a server."""

from __future__ import annotations

import argparse

from manus.options import positive, read_settings
from manus.state.errors import UsageError

SUMMARY = "List the MCP servers and their tools, or be such a server"
_PORT = 8765


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do."""
    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    listing = what.add_parser("list", help="connect the configured servers and list their tools")
    listing.add_argument("--json", action="store_true", help="a JSON array on stdout")
    serving = what.add_parser(
        "serve", help="offer our tools, `agent` and `flow` over stdin and stdout, or HTTP"
    )
    serving.add_argument("--http", action="store_true", help="streamable HTTP, at /mcp")
    serving.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="(127.0.0.1)")
    serving.add_argument("--port", metavar="N", type=_port, default=_PORT, help=f"({_PORT})")
    serving.add_argument("--profile", metavar="NAME", help="whose tools are offered (manus)")
    serving.add_argument(
        "--workspace", metavar="DIR", help="the directory to work in (default ./workspace)"
    )


def _port(text: str) -> int:
    return 0 if text == "0" else positive(text)


def execute(args: argparse.Namespace) -> int:
    """Do it.

    Raises:
        UsageError: the package for MCP is not installed.
    """
    import asyncio

    from manus.logs import set_up_logging
    from manus.preflight import is_installed
    from manus.tools.load_mcp_tools import NOT_INSTALLED

    if not is_installed("mcp"):
        raise UsageError(NOT_INSTALLED.replace("MCP servers are configured, but the", "The"))
    settings = read_settings()
    set_up_logging()
    if args.what == "list":
        from manus.mcp.listing import list_servers

        return asyncio.run(list_servers(settings, as_json=args.json))
    from manus.mcp.serve import serve
    from manus.traces import sending_traces

    with sending_traces():
        return asyncio.run(serve(settings, args))
