"""The HTTP client of the model servers that speak OpenAI's protocol."""

from __future__ import annotations

import select
from typing import Any

import httpcore2
from openai import DefaultAsyncHttpxClient, Timeout

from manus.models.tls import ssl_context


def build_http_client(timeout: Timeout) -> DefaultAsyncHttpxClient:
    """Return a client whose pool checks idle connections at little cost.

    The pool asks each idle connection at each request whether the server has closed it, and its
    own streams collect the addresses of both ends to answer that: with fifty runs, a tenth of the
    time of a step. Connections through a proxy have a pool of their own, which is unchanged.
    """
    client = DefaultAsyncHttpxClient(timeout=timeout, verify=ssl_context())
    # the public constructors of httpx pass no backend to the pool
    pool: Any = getattr(client._transport, "_pool", None)
    if hasattr(pool, "_network_backend"):
        pool._network_backend = _Backend()
    return client


class _Backend(httpcore2.AnyIOBackend):
    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await super().connect_tcp(*args, **options))


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that keeps its socket, to see whether the server has closed it."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self.read = stream.read  # type: ignore[method-assign]
        self.write = stream.write  # type: ignore[method-assign]
        self.aclose = stream.aclose  # type: ignore[method-assign]
        self._poll = select.poll()
        self._poll.register(stream.get_extra_info("socket"), select.POLLIN)

    async def start_tls(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._stream.start_tls(*args, **options))

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return bool(self._poll.poll(0))
        return self._stream.get_extra_info(info)
