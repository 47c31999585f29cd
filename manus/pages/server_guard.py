"""The guard of all local servers: listening socket, Host, Origin and bearer token."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from manus.state.errors import UsageError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_WITH_BODY = ("POST", "PUT", "PATCH")


class Rejection(NamedTuple):
    """Why a request is refused."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The requests that a server accepts.

    A page in a browser can send requests to this machine: under its own host name (DNS rebinding),
    or from its own origin without a preflight request (CSRF).
    """

    hosts: frozenset[str]
    """Accepted Host headers, as a name or as NAME:PORT; `*` accepts any."""
    origins: frozenset[str] = frozenset()
    """Accepted Origin headers besides those of `hosts`."""
    token: str = ""
    """Bearer token; empty if none is needed."""
    token_source: str = ""
    """Where a client finds the token, for the error."""
    is_json_only: bool = False
    """Whether request bodies must be JSON, which a page cannot send without a preflight request."""
    open_paths: frozenset[str] = frozenset()
    """Paths that need no token."""
    trusted_hosts: frozenset[str] = frozenset()
    """Host names of in-process clients, which need no token."""

    def find_rejection(
        self, method: str, path: str, headers: Mapping[str, str]
    ) -> Rejection | None:
        """Return why a request is refused; None if it is accepted."""
        if not self._accepts_host(headers.get("host", "")):
            return Rejection(403, "Forbidden: unexpected Host header.")
        if not self._accepts_origin(headers.get("origin")):
            return Rejection(403, "Forbidden: unexpected Origin header.")
        if self.is_json_only and method in _WITH_BODY and _has_other_body(headers):
            return Rejection(403, "Forbidden: send the body as application/json.")
        if not self._accepts_token(method, path, headers):
            return Rejection(401, f"Unauthorized: send the bearer token {self.token_source}.")
        return None

    def _accepts_host(self, host: str) -> bool:
        return not self.hosts.isdisjoint({"*", host, _host_name(host)})

    def _accepts_origin(self, origin: str | None) -> bool:
        if origin is None or origin in self.origins:
            return True
        host = urlsplit(origin).netloc
        return bool(host) and not self.hosts.isdisjoint({host, _host_name(host)})

    def _accepts_token(self, method: str, path: str, headers: Mapping[str, str]) -> bool:
        is_open = method == "OPTIONS" or path in self.open_paths
        if not self.token or is_open or _host_name(headers.get("host", "")) in self.trusted_hosts:
            return True
        authorization = headers.get("authorization", "").encode()
        return hmac.compare_digest(authorization, f"Bearer {self.token}".encode())


def _host_name(host: str) -> str:
    """Return a Host header without its port; empty if it is malformed."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _has_other_body(headers: Mapping[str, str]) -> bool:
    """Return whether there is a body that is not JSON."""
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return has_body and media_type != "application/json"


class Guard:
    """ASGI middleware that refuses requests which `access()` does not accept."""

    def __init__(self, app: ASGIApp, access: Callable[[], AccessPolicy]) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        app = self._app
        if scope["type"] == "http":
            request = Request(scope)
            access = self._access()
            rejection = access.find_rejection(request.method, scope["path"], request.headers)
            if rejection is not None:
                app = JSONResponse({"detail": rejection.reason}, rejection.status)
        await app(scope, receive, send)


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address; port 0 selects any free port.

    Raises:
        UsageError: the address is not available.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"Cannot listen on {host}:{port} ({error.strerror}); choose another port with --port "
            "(0 for any free port)."
        ) from None
