"""A filtering forward proxy on loopback for all requests of the browser, the search and the reader.

Redirects, subresources, requests from scripts and WebSockets all pass through it with their host,
so the rules are enforced in one place. The proxy resolves names itself and connects to the address
that the rules have checked, which prevents DNS rebinding.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import socket
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit

from manus.sandbox.egress import (
    EgressRefusedError,
    EgressRules,
    UnreachableError,
    is_loopback,
    parse_ip,
    unwrap_ipv4,
)
from manus.state.errors import ToolError

_HEAD_LIMIT = 256 * 1024
_HEAD_SECONDS = 60.0
_CONNECT_SECONDS = 15.0
_CHUNK_SIZE = 64 * 1024
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_HOP_BY_HOP = (b"connection:", b"keep-alive:", b"proxy-connection:", b"proxy-authorization:")


T = TypeVar("T")


class RecentItems(Generic[T]):
    """A log of the last 500 items."""

    def __init__(self) -> None:
        self.items: deque[T] = deque(maxlen=500)
        self.count = 0
        """Number of items so far, as a mark for `since`."""

    def add(self, item: T) -> None:
        """Add an item."""
        self.count += 1
        self.items.append(item)

    def since(self, mark: int) -> list[T]:
        """Return the distinct items after a mark."""
        old = max(0, len(self.items) - (self.count - mark))
        return list(dict.fromkeys(list(self.items)[old:]))


class Incident(NamedTuple):
    """A request that was refused, or whose host could not be reached."""

    host: str
    reason: str
    refused: bool
    proxy_port: int
    """The port of the proxy that received it; programs in a sandbox have their own."""


class HostGuard(Protocol):
    """Decides which hosts programs may reach, and learns whose responses they receive."""

    async def hold(self, host: str) -> str:
        """Return why a program must not connect to a host; empty if it may."""

    def note_response(self, host: str) -> None:
        """Record that a program receives a response of a host."""


class EgressProxy:
    """The proxy of one run, started by `start`."""

    def __init__(self, rules: EgressRules) -> None:
        self.rules = rules
        self.guard: HostGuard | None = None
        """Decides which hosts programs of the run may reach; None allows all."""
        self.shows_program_content = False
        """Whether the browser shows content of the run's programs, so that it is guarded too."""
        self.key = f"server:{secrets.token_urlsafe(16)}"
        """User and password that identify a program of the user, which is allowed."""
        self._servers: list[asyncio.Server] = []
        self._connections: dict[asyncio.Task[None], int] = {}
        self.incidents = RecentItems[Incident]()

    @classmethod
    async def start(cls, rules: EgressRules) -> EgressProxy:
        """Start a proxy on a free port of loopback."""
        proxy = cls(rules)
        await proxy.listen(socket.create_server(("127.0.0.1", 0)))
        return proxy

    async def listen(self, listener: socket.socket) -> asyncio.Server:
        """Also accept connections on another socket, until its server or the proxy is closed."""
        server = await asyncio.start_server(self._accept, sock=listener, limit=_HEAD_LIMIT)
        self._servers.append(server)
        return server

    @property
    def port(self) -> int:
        """Return the port on loopback."""
        return int(self._servers[0].sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """Return the address of the proxy."""
        return f"http://127.0.0.1:{self.port}"

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        for server in self._servers:
            server.close()
        for task in (tasks := list(self._connections)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # closing the connections takes one iteration of the loop

    def _accept(self, *client: Any) -> None:
        proxy_port = client[1].get_extra_info("sockname")[1]
        task = asyncio.get_running_loop().create_task(self._serve(client, proxy_port))
        self._connections[task] = proxy_port

        def forget(task: asyncio.Task[None]) -> None:
            self._connections.pop(task, None)
            _drop(client[1])  # a task that is cancelled before it starts closes nothing

        task.add_done_callback(forget)

    async def _serve(self, client: _Streams, proxy_port: int) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await client[0].readuntil(b"\r\n\r\n")
            await self._handle(client, proxy_port, head)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass  # one side has disconnected; the other sees the connection close
        finally:
            _drop(client[1])

    async def _handle(self, client: _Streams, proxy_port: int, head: bytes) -> None:
        method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
        target, _, version = rest.rpartition(" ")
        host = target
        tunnel = method.upper() == "CONNECT"
        try:
            host, port = _parse_target(target, tunnel)
            await self._check_program(host, proxy_port, head)
            server = await self._connect(host, port)
        except ToolError as error:
            is_refused = isinstance(error, EgressRefusedError)
            self.incidents.add(Incident(host, str(error), is_refused, proxy_port))
            client[1].write(
                _error_response(str(error), "403 Forbidden" if is_refused else "502 Bad Gateway")
            )
            await client[1].drain()
            return
        try:
            if tunnel and self.rules.upstream is None:
                client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            elif tunnel:
                server[1].write(head)
            else:
                path = target if self.rules.upstream is not None else _origin_form(target)
                server[1].write(_close_after(head, f"{method} {path} {version}".encode("latin-1")))
            on_response = partial(self._note_response, host, proxy_port, head)
            await _relay(client, server, on_response, tunnel=tunnel)
        finally:
            _drop(server[1])

    async def _check_program(self, host: str, proxy_port: int, head: bytes) -> None:
        """Ask the guard about a request of a program, or of a page that one may have created."""
        if proxy_port == self.port and is_loopback(host):
            self.note_program_content()
        if proxy_port == self.port:
            is_held = self.shows_program_content
        else:
            is_held = self._is_program(proxy_port, head)
        if self.guard is not None and is_held and (reason := await self.guard.hold(host)):
            raise EgressRefusedError(reason)

    def _is_program(self, proxy_port: int, head: bytes) -> bool:
        """Return whether a request comes from a program of the model rather than of the user."""
        return proxy_port != self.port and base64.b64encode(self.key.encode()) not in head

    def _note_response(self, host: str, proxy_port: int, head: bytes) -> None:
        """Notify the guard that a program receives a response."""
        if self.guard is not None and self._is_program(proxy_port, head):
            self.guard.note_response(host)

    def note_program_content(self) -> None:
        """Start to guard the browser, and close its open connections."""
        for task, proxy_port in self._connections.items():
            if (
                not self.shows_program_content
                and proxy_port == self.port
                and task is not asyncio.current_task()
            ):
                task.cancel()
        self.shows_program_content = True

    async def _connect(self, host: str, port: int) -> _Streams:
        if self.rules.upstream is not None:
            self.rules.check_for_upstream(host, port)
            parts = urlsplit(self.rules.upstream)
            host = parts.hostname or ""
            port = parts.port or 80
            addresses = [host]
        else:
            addresses = await self.rules.resolve_allowed(host, port)
            if connection := await self._connect_inside(addresses, port):
                return connection
        for address in addresses:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CONNECT_SECONDS):
                    return await asyncio.open_connection(address, port, limit=_HEAD_LIMIT)
        raise UnreachableError(f"{host} does not respond on port {port}.")

    async def _connect_inside(self, addresses: list[str], port: int) -> _Streams | None:
        """Connect to a server in the sandbox; return None if the address is not its loopback."""
        inside = self.rules.inside
        first = parse_ip(addresses[0])
        if inside is None or first is None or not unwrap_ipv4(first).is_loopback:
            return None
        if connection := await inside(port):
            return await asyncio.open_connection(sock=connection, limit=_HEAD_LIMIT)
        self.rules.check_host(addresses[0], port, inside=False)
        return None


def _parse_target(target: str, tunnel: bool) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{target}" if tunnel else target)
        host = parts.hostname
        port = parts.port or (443 if tunnel else 80)
    except ValueError:
        host = None
        port = 0
    if not host or not (tunnel or parts.scheme == "http"):
        raise EgressRefusedError(f"{target} is not a valid address.")
    return host, port


def _origin_form(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(("", "", parts.path or "/", parts.query, ""))


def _close_after(head: bytes, first: bytes) -> bytes:
    """Replace the first line of a header block, and add `Connection: close`.

    A second request on the connection could be for a server that the rules have not checked.
    """
    lines = head[:-4].split(b"\r\n")[1:]
    headers = [line for line in lines if not line.lower().startswith(_HOP_BY_HOP)]
    return b"\r\n".join([first, *headers, b"Connection: close"]) + b"\r\n\r\n"


async def _relay(
    client: _Streams, server: _Streams, on_response: Callable[[], None], *, tunnel: bool
) -> None:
    """Relay both directions until one side closes; call `answered` at the first response byte."""
    (client_in, client_out) = client
    (server_in, server_out) = server

    async def relay_response() -> None:
        while not tunnel:
            head = await server_in.readuntil(b"\r\n\r\n")
            on_response()
            first = head.partition(b"\r\n")[0]
            if first[9:10] != b"1" or first[9:12] == b"101":
                client_out.write(_close_after(head, first))
                break
            client_out.write(head)  # an interim response, such as 103 Early Hints
        await _pump(server_in, client_out, on_response)

    async def relay_request() -> None:
        await _pump(client_in, server_out)
        if tunnel and server_out.can_write_eof():
            server_out.write_eof()
            await asyncio.Event().wait()  # the response may still be on its way

    sides = [asyncio.ensure_future(relay_response()), asyncio.ensure_future(relay_request())]
    try:
        await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for side in sides:
            side.cancel()
        await asyncio.gather(*sides, return_exceptions=True)


async def _pump(
    source: asyncio.StreamReader,
    sink: asyncio.StreamWriter,
    on_chunk: Callable[[], None] = lambda: None,
) -> None:
    while chunk := await source.read(_CHUNK_SIZE):
        on_chunk()
        sink.write(chunk)
        await sink.drain()


def _error_response(text: str, status: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


def _drop(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, RuntimeError):
        writer.close()
