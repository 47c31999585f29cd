"""What servers of ours have in common: where they listen, and who may ask them."""

from __future__ import annotations

import socket
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from manus.state.errors import UsageError


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address; port 0 is any free one.

    Raises:
        UsageError: it cannot be used.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"{host}:{port} cannot be served ({error.strerror}); choose another port with --port "
            "(0: any that is free)."
        ) from None


class Guard:
    """Passes requests on for which `refusal`, which looks at their heads, has no response."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Request], Response | None]) -> None:
        self._app = app
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse it."""
        refused = self._refusal(Request(scope)) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)
