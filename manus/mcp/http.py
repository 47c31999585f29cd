"""Our MCP server over streamable HTTP, for clients that bear its token."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from manus.state.errors import UsageError
from manus.tools.mcp.transport import is_loopback

TOKEN = "MANUS_MCP_TOKEN"
PATH = "/mcp"
_GRACE = 3
"""Seconds for requests under way when the server is told to end."""


class Door:
    """Lets in who bears the token."""

    def __init__(self, manager: StreamableHTTPSessionManager, token: str) -> None:
        self._manager = manager
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        given = Request(scope).headers.get("authorization", "").encode()
        if not secrets.compare_digest(given, self._expected):
            refusal = PlainTextResponse("A bearer token is needed; the server printed it.", 401)
            await refusal(scope, receive, send)
            return
        await self._manager.handle_request(scope, receive, send)


async def serve_http(server: Server[Any, Any], host: str, port: int) -> int:
    """Serve until a signal says so; the exit code.

    Raises:
        UsageError: the address cannot be used, or is open to other machines without a token.
    """
    token = os.environ.get(TOKEN, "").strip()
    here = is_loopback(host)
    if not (here or token):
        raise UsageError(
            f"Who reaches {host} could run commands here: set {TOKEN} to a secret that clients "
            "must bear, or serve 127.0.0.1."
        )
    made = "" if token else secrets.token_urlsafe(24)  # other users of this machine have none
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(f"{host}:{port} cannot be served: {error.strerror}.") from None
    names = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    # a web page that a person here looks at must not reach it by a name of its own
    safety = TransportSecuritySettings(
        enable_dns_rebinding_protection=here,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    manager = StreamableHTTPSessionManager(server, security_settings=safety)
    route = Route(PATH, endpoint=Door(manager, token or made))
    app = Starlette(routes=[route], lifespan=lambda _: manager.run())
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"Serving MCP at http://{shown}:{listener.getsockname()[1]}{PATH}\n")
    if made:
        sys.stderr.write(f"Clients send this header: Authorization: Bearer {made}\n")
    sys.stderr.flush()
    # uvicorn ends at these signals, and then sends them once more to whoever listened before
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=_GRACE)
    await uvicorn.Server(config).serve([listener])
    return 0
