"""A filtering forward proxy on loopback: every hop of the browser, search and reader goes through.

Redirects, subresources, scripts' requests and WebSockets all arrive here with the host they want,
so the rules need to be kept in one place only. It resolves names itself and connects to the very
address that the rules have seen.
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
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit, urlunsplit

from manus.execution.egress_guard import EgressGuard
from manus.execution.network.egress import (
    EgressRefusedError,
    EgressRules,
    UnreachableError,
    is_loopback,
    literal_address,
    unwrap,
)
from manus.execution.session import Session
from manus.state.errors import ToolError

_HEAD_LIMIT = 256 * 1024
_HEAD_SECONDS = 60.0
_CONNECT_SECONDS = 15.0
_PIECE = 64 * 1024
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_HOP_BY_HOP = (b"connection:", b"keep-alive:", b"proxy-connection:", b"proxy-authorization:")


T = TypeVar("T")


class Recent(Generic[T]):
    """The last few hundred of what happened."""

    def __init__(self) -> None:
        self.kept: deque[T] = deque(maxlen=500)
        self.count = 0
        """How many there have been: a mark for `since`."""

    def add(self, what: T) -> None:
        """Note something."""
        self.count += 1
        self.kept.append(what)

    def since(self, mark: int) -> list[T]:
        """What has happened after a mark, without repetitions."""
        old = max(0, len(self.kept) - (self.count - mark))
        return list(dict.fromkeys(list(self.kept)[old:]))


class Incident(NamedTuple):
    """Something that was not let through, or not reached."""

    host: str
    reason: str
    refused: bool
    door: int
    """The port at which it was asked for: programs in a sandbox have one of their own."""


class EgressProxy:
    """The proxy of one run. `start` makes one."""

    def __init__(self, rules: EgressRules) -> None:
        self.rules = rules
        self.guard: EgressGuard | None = None
        """Decides which hosts programs of the run may reach; without one, any."""
        self.shows_own = False
        """The browser shows what a program of the run may have made: it is held like one."""
        self.key = f"server:{secrets.token_urlsafe(16)}"
        """User and password by which a program that the user chose is known, and let pass."""
        self._servers: list[asyncio.Server] = []
        self._connections: dict[asyncio.Task[None], int] = {}
        self.incidents = Recent[Incident]()

    @classmethod
    async def start(cls, rules: EgressRules) -> EgressProxy:
        """A proxy that listens on a free port of loopback."""
        proxy = cls(rules)
        await proxy.listen(socket.create_server(("127.0.0.1", 0)))
        return proxy

    async def listen(self, listener: socket.socket) -> asyncio.Server:
        """Serve those who come there, too, until what this returns is closed, or the proxy."""
        server = await asyncio.start_server(self._accept, sock=listener, limit=_HEAD_LIMIT)
        self._servers.append(server)
        return server

    @property
    def port(self) -> int:
        """Where it listens on loopback."""
        return int(self._servers[0].sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """The same as an address."""
        return f"http://127.0.0.1:{self.port}"

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        for server in self._servers:
            server.close()
        for task in (tasks := list(self._connections)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the connections' ends take a turn of the loop

    def _accept(self, *here: Any) -> None:
        door = here[1].get_extra_info("sockname")[1]
        task = asyncio.get_running_loop().create_task(self._serve(here, door))
        self._connections[task] = door

        def forget(task: asyncio.Task[None]) -> None:
            self._connections.pop(task, None)
            _drop(here[1])  # a task that is cancelled before it begins drops nothing itself

        task.add_done_callback(forget)

    async def _serve(self, here: _Streams, door: int) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await here[0].readuntil(b"\r\n\r\n")
            await self._handle(here, door, head)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass  # one of the two ends has gone; the other is told by the connection's end
        finally:
            _drop(here[1])

    async def _handle(self, here: _Streams, door: int, head: bytes) -> None:
        method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
        target, _, version = rest.rpartition(" ")
        host, tunnel = target, method.upper() == "CONNECT"
        try:
            host, port = _place(target, tunnel)
            await self._check_door(host, door, head)
            there = await self._connect(host, port)
        except ToolError as error:
            refused = isinstance(error, EgressRefusedError)
            self.incidents.add(Incident(host, str(error), refused, door))
            here[1].write(_refusal(str(error), "403 Forbidden" if refused else "502 Bad Gateway"))
            await here[1].drain()
            return
        try:
            if tunnel and self.rules.upstream is None:
                here[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            elif tunnel:
                there[1].write(head)
            else:
                path = target if self.rules.upstream is not None else _path(target)
                there[1].write(_closing(head, f"{method} {path} {version}".encode("latin-1")))
            answered = partial(self._note_response, host, door, head)
            await _relay(here, there, answered, tunnel=tunnel)
        finally:
            _drop(there[1])

    async def _check_door(self, host: str, door: int, head: bytes) -> None:
        """Hold back what comes from a program, or from a page that one may have made."""
        if door == self.port and is_loopback(host):
            self.show_own()
        is_held = self.shows_own if door == self.port else self._is_program(door, head)
        if self.guard is not None and is_held and (why := await self.guard.hold(host)):
            raise EgressRefusedError(why)

    def _is_program(self, door: int, head: bytes) -> bool:
        """Return whether a request comes from a program of the model, not from one of the user."""
        return door != self.port and base64.b64encode(self.key.encode()) not in head

    def _note_response(self, host: str, door: int, head: bytes) -> None:
        """Tell the guard that a program is being answered."""
        if self.guard is not None and self._is_program(door, head):
            self.guard.note_response(host)

    def show_own(self) -> None:
        """From now on the browser is held; connections that it has kept are dropped."""
        for task, door in self._connections.items():
            if not self.shows_own and door == self.port and task is not asyncio.current_task():
                task.cancel()
        self.shows_own = True

    async def _connect(self, host: str, port: int) -> _Streams:
        if self.rules.upstream is not None:
            self.rules.check_for_upstream(host, port)
            parts = urlsplit(self.rules.upstream)
            host, port = parts.hostname or "", parts.port or 80
            addresses = [host]
        else:
            addresses = await self.rules.addresses(host, port)
            if found := await self._inside(addresses, port):
                return found
        for address in addresses:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CONNECT_SECONDS):
                    return await asyncio.open_connection(address, port, limit=_HEAD_LIMIT)
        raise UnreachableError(f"{host} does not answer on port {port}.")

    async def _inside(self, addresses: list[str], port: int) -> _Streams | None:
        """A connection to a server in the sandbox, if it is one that was asked for."""
        inside, first = self.rules.inside, literal_address(addresses[0])
        if inside is None or first is None or not unwrap(first).is_loopback:
            return None
        if found := await inside(port):
            return await asyncio.open_connection(sock=found, limit=_HEAD_LIMIT)
        self.rules.check_host(addresses[0], port, inside=False)
        return None


async def egress_of(session: Session) -> EgressProxy:
    """The proxy of a session, started when it is first needed."""

    async def make() -> EgressProxy:
        proxy = await EgressProxy.start(EgressRules(session.settings.egress))
        proxy.guard = session.egress_guard
        return proxy

    return await session.obtain("egress", make)


def _place(target: str, tunnel: bool) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{target}" if tunnel else target)
        host, port = parts.hostname, parts.port or (443 if tunnel else 80)
    except ValueError:
        host, port = None, 0
    if not host or not (tunnel or parts.scheme == "http"):
        raise EgressRefusedError(f"{target} is not a valid address.")
    return host, port


def _path(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(("", "", parts.path or "/", parts.query, ""))


def _closing(head: bytes, first: bytes) -> bytes:
    """A head with another first line, that says that the connection ends with this.

    A second request could be meant for a server that the rules were not asked about.
    """
    lines = head[:-4].split(b"\r\n")[1:]
    kept = [line for line in lines if not line.lower().startswith(_HOP_BY_HOP)]
    return b"\r\n".join([first, *kept, b"Connection: close"]) + b"\r\n\r\n"


async def _relay(
    here: _Streams, there: _Streams, answered: Callable[[], None], *, tunnel: bool
) -> None:
    """Pass on what both sides send until one has ended; `answered` is called at the first byte."""
    (here_in, here_out), (there_in, there_out) = here, there

    async def back() -> None:
        while not tunnel:
            head = await there_in.readuntil(b"\r\n\r\n")
            answered()
            first = head.partition(b"\r\n")[0]
            if first[9:10] != b"1" or first[9:12] == b"101":
                here_out.write(_closing(head, first))
                break
            here_out.write(head)  # an interim answer, such as 103 with early hints
        await _pump(there_in, here_out, answered)

    async def forth() -> None:
        await _pump(here_in, there_out)
        if tunnel and there_out.can_write_eof():
            there_out.write_eof()
            await asyncio.Event().wait()  # the answer may still be on its way

    sides = [asyncio.ensure_future(back()), asyncio.ensure_future(forth())]
    try:
        await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for side in sides:
            side.cancel()
        await asyncio.gather(*sides, return_exceptions=True)


async def _pump(
    source: asyncio.StreamReader,
    sink: asyncio.StreamWriter,
    arrived: Callable[[], None] = lambda: None,
) -> None:
    while piece := await source.read(_PIECE):
        arrived()
        sink.write(piece)
        await sink.drain()


def _refusal(text: str, status: str) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


def _drop(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, RuntimeError):
        writer.close()
