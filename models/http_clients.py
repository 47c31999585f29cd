"""The HTTP client of a model server. The certificates that all trust are read once, when used."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.request import getproxies

import httpx2
from httpcore2 import default_ssl_context
from openai import DefaultAsyncHttpxClient, Timeout

_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
_ALIVE = {
    "TCP_KEEPIDLE": 60,
    "TCP_KEEPALIVE": 60,  # what macOS calls it
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 120_000,
}
"""Seconds, but milliseconds for the last. A model thinks for minutes in which nothing is sent: a
router on the way would forget the connection, and a server that is gone would not be noticed."""


def http_client(timeout: Timeout) -> httpx2.AsyncClient:
    """A client for one event loop, through the proxies that the environment names, if any."""
    trust = _TrustWhenUsed(ssl.PROTOCOL_TLS_CLIENT)
    if getproxies().keys() - {"no"}:
        return DefaultAsyncHttpxClient(timeout=timeout, verify=trust)
    transport = httpx2.AsyncHTTPTransport(
        verify=trust, limits=_LIMITS, socket_options=_socket_options()
    )
    return DefaultAsyncHttpxClient(timeout=timeout, transport=transport)


def _socket_options() -> list[tuple[int, int, int]]:
    chosen = [(getattr(socket, name, None), value) for name, value in _ALIVE.items()]
    known = [(socket.IPPROTO_TCP, option, value) for option, value in chosen if option is not None]
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *known]


class _TrustWhenUsed(ssl.SSLContext):
    """Stands for the process's one context, which is made at the first handshake.

    To make one takes 30 ms, which a server without TLS does not need, and each event loop has
    clients of its own. anyio wraps by a context that is no plain one in a thread, off the loop.
    """

    _protocols: tuple[str, ...] = ()

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        self._protocols = tuple(alpn_protocols)

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        chosen = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        return _trust(chosen, self._protocols).wrap_bio(*args, **kwargs)


@lru_cache(8)
def _trust(_chosen: tuple[str | None, ...], protocols: tuple[str, ...]) -> ssl.SSLContext:
    """By the variables that decide which certificates are trusted: the context reads them."""
    made = default_ssl_context()
    made.set_alpn_protocols(protocols)
    return made
