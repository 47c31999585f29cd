"""Receive the answer of an authorization server on loopback, from the person's browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qsl, urlsplit

_HOST = "127.0.0.1"
_PATH = "/callback"
_RETURN = "This page can be closed. Return to the terminal."
_STRANGER = "This answer does not belong to the login that is in progress."


class Callback:
    """The listener of one login."""

    def __init__(self) -> None:
        self.address = ""
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    def expect(self, authorization_url: str) -> None:
        """Accept only the answer to this request: other pages can reach the listener, too."""
        self._state = dict(parse_qsl(urlsplit(authorization_url).query)).get("state", "")

    async def wait(self) -> dict[str, str]:
        """Return the parameters of the answer."""
        return await self._answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        # a browser opens connections that it does not use
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await reader.readuntil(b"\r\n\r\n")
            status, text = self._receive(head.decode("latin-1").partition("\r\n")[0])
            lines = (
                f"HTTP/1.1 {status}",
                "Content-Type: text/plain; charset=utf-8",
                f"Content-Length: {len(text)}",
                "Cache-Control: no-store",
                "Connection: close",
            )
            writer.write("\r\n".join((*lines, "", text)).encode())
            await writer.drain()
        writer.close()

    def _receive(self, request_line: str) -> tuple[str, str]:
        """Return the status and text for a request, and keep its answer if it is the expected."""
        method, _, target = request_line.rpartition(" ")[0].partition(" ")
        address = urlsplit(target)
        if method != "GET" or address.path != _PATH:
            return "404 Not Found", "Not found."
        parameters = dict(parse_qsl(address.query))
        if not self._state or parameters.get("state") != self._state:
            return "400 Bad Request", _STRANGER
        if not self._answer.done():
            self._answer.set_result(parameters)
        return "200 OK", _RETURN


@asynccontextmanager
async def listen() -> AsyncIterator[Callback]:
    """Listen on a free port of this machine for the length of a block."""
    callback = Callback()
    server = await asyncio.start_server(callback.serve, _HOST, 0)
    port = server.sockets[0].getsockname()[1]
    callback.address = f"http://{_HOST}:{port}{_PATH}"
    try:
        yield callback
    finally:
        server.close()
