"""One connection to a server, by the SDK's transports, from its beginning to its end."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

import anyio
import httpx
from mcp import ClientSession, McpError, types
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from manus.state.errors import ManusError, ToolUnavailableError
from manus.state.mcp_settings import McpServer
from manus.tools.sandbox.sandbox import Confined, sandbox_of
from manus.tools.session import Session
from manus.tools.shell.process import scrubbed
from manus.tools.web.egress import is_loopback

T = TypeVar("T")

_SHOWN = 300
_IDLE = 86_400.0
"""Seconds that an address may keep silent; each call has its own limit."""
_END = 20.0
"""Seconds for a server to end."""
_CONFINED = " It is started in the sandbox; `sandbox = false` in its settings gives it the machine."
_SESSION_TERMINATED = 32600
"""How the SDK tells that a server at an address does not know our session any more."""
_CLIENT = types.Implementation(name="manus", version="0.1.0")
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError)


class NotSentError(Exception):
    """The connection was gone before the request: the server has not seen it."""


class LostError(Exception):
    """The connection broke while a request was under way: it may have taken effect."""


class Connection:
    """An initialised session, held open by a task of its own until it is closed or breaks.

    `on_change` is called when the server says that its tools have changed.
    """

    def __init__(
        self, name: str, server: McpServer, session: Session, on_change: Callable[[], None]
    ) -> None:
        self._name = name
        self._server = server
        self._run = session
        self._on_change = on_change
        self._session: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._said = ""
        self._owner = asyncio.create_task(self._own())

    async def open(self) -> None:
        """Wait until it is there.

        Raises:
            ToolUnavailableError: it is not there, refuses us, or does not answer in time.
        """
        seconds = self._server.connect_timeout
        waiting: set[asyncio.Future[Any]] = {self._owner, self._session}
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close()
            raise
        if self._session.done():
            return
        reason = self._why() if self._owner.done() else f"it did not answer within {seconds:g} s"
        await self.close()
        said = f" (it said: {self._said})" if self._said else ""
        raise ToolUnavailableError(
            f"The MCP server `{self._name}` ({self._server.place}) cannot be used: {reason}{said}."
            f"{_CONFINED if self._server.confined else ''}"
        )

    async def _own(self) -> None:
        server = self._server
        reached = _program(server, self._run) if server.kind == "stdio" else _address(server)
        async with reached as (read, write, last_words):
            session = ClientSession(read, write, client_info=_CLIENT, message_handler=self._hear)
            try:
                async with session:
                    await session.initialize()
                    self._session.set_result(session)
                    await anyio.sleep_forever()
            finally:
                self._said = last_words()

    async def _hear(self, message: Any) -> None:
        if isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
            self._on_change()

    async def request(self, ask: Callable[[ClientSession], Coroutine[Any, Any, T]]) -> T:
        """The answer to a request, however long it takes.

        Raises:
            NotSentError, LostError: as they say.
            McpError: the server answered with an error.
        """
        if self._owner.done():
            raise NotSentError
        work = asyncio.ensure_future(ask(self._session.result()))
        try:
            await asyncio.wait({work, self._owner}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            raise LostError
        except McpError as error:
            if error.error.code == types.CONNECTION_CLOSED:
                raise LostError from None
            if error.error.code == _SESSION_TERMINATED:
                raise NotSentError from None
            raise
        except _CLOSED:
            raise NotSentError from None
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def close(self) -> None:
        """End it, and the program that it started."""
        self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=_END)
        self._error()  # seen: nobody else will ask for it

    def _error(self) -> BaseException | None:
        """What ended it, or None; the first that is not made of others."""
        if not self._owner.done() or self._owner.cancelled():
            return None
        error = self._owner.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return error

    def _why(self) -> str:
        error = self._error()
        if isinstance(error, httpx.HTTPStatusError):
            response = error.response
            return f"it answers {response.status_code} {response.reason_phrase}".rstrip()
        if isinstance(error, httpx.HTTPError):
            return f"it cannot be reached ({type(error).__name__})"
        if isinstance(error, ManusError):
            return str(error).rstrip(".")
        if isinstance(error, McpError) and error.error.code != types.CONNECTION_CLOSED:
            return f"it refuses us ({error.error.message})"
        return "it ended at once"


Streams = tuple[Any, Any, Callable[[], str]]
"""What comes from a server, what goes to it, and what it said besides when it failed, in a line."""


@asynccontextmanager
async def _address(server: McpServer) -> AsyncIterator[Streams]:
    """A server at an address, for the length of a block."""
    url = str(server.url)
    make_client = partial(
        httpx.AsyncClient,
        headers=server.all_headers(os.environ),
        timeout=httpx.Timeout(server.connect_timeout, read=_IDLE),
        trust_env=not is_loopback(httpx.URL(url).host),  # no proxy leads to this machine
    )
    client = await asyncio.to_thread(make_client)  # it reads the machine's certificates
    if server.kind == "sse":
        make: Any = lambda **_: client  # noqa: E731 - a type that the SDK does not export
        async with sse_client(url, httpx_client_factory=make) as (read, write):
            yield read, write, str
        return
    async with client, streamable_http_client(url, http_client=client) as (read, write, _):
        yield read, write, str


@asynccontextmanager
async def _program(server: McpServer, session: Session) -> AsyncIterator[Streams]:
    """A server that is a program of ours, which has ended after the block."""
    directory = _absolute(server.directory or ".", session.workspace.root)
    argv, known = (str(server.command), *server.args), scrubbed(os.environ)
    started = Confined(argv, {**known, **server.variables(os.environ)})
    if server.confined:
        sandbox = await sandbox_of(session)
        confine = partial(sandbox.confine, chosen=True)
        started = await asyncio.to_thread(confine, argv, started.environment, directory)
    program = StdioServerParameters(
        command=started.argv[0],
        args=list(started.argv[1:]),
        env=dict(started.environment),
        cwd=directory,
        encoding_error_handler="replace",
    )
    errors = await asyncio.to_thread(tempfile.TemporaryFile, "w+", errors="replace")
    with errors:
        try:
            async with stdio_client(program, errlog=errors) as (read, write):
                yield read, write, lambda: _last_line(errors)
        except OSError as error:
            raise ToolUnavailableError(
                f"`{server.command}` cannot be started: {error.strerror}."
            ) from None


def _absolute(folder: str, root: Path) -> Path:
    """A folder from the settings. Without a look at the disk: the event loop must not wait."""
    return Path(os.path.normpath(root / Path(folder).expanduser()))


def _last_line(errors: IO[str]) -> str:
    errors.seek(max(0, os.fstat(errors.fileno()).st_size - 4096))
    lines = [line.strip() for line in errors.read().splitlines()]
    return next((line[:_SHOWN] for line in reversed(lines) if line), "")
