"""The HTTP client of a model server."""

from __future__ import annotations

import os
import socket
import ssl
from functools import lru_cache
from urllib.request import getproxies

import httpx2
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
    trust = _trust(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    if getproxies().keys() - {"no"}:
        return DefaultAsyncHttpxClient(timeout=timeout, verify=trust)
    chosen = [(getattr(socket, name, None), value) for name, value in _ALIVE.items()]
    known = [(socket.IPPROTO_TCP, option, value) for option, value in chosen if option is not None]
    transport = httpx2.AsyncHTTPTransport(
        verify=trust,
        limits=_LIMITS,
        socket_options=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *known],
    )
    return DefaultAsyncHttpxClient(timeout=timeout, transport=transport)


@lru_cache(8)
def _trust(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Which certificates are trusted, by the variables that decide it. To read them takes 30 ms."""
    return httpx2.create_ssl_context()
