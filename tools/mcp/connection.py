"""One connection to a server, from its beginning to its end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx
from mcp import ClientSession, McpError, types
from pydantic import FileUrl

from manus.state.errors import ManusError, ToolUnavailableError
from manus.state.mcp_settings import McpServer
from manus.tools.mcp.transport import Streams, reach
from manus.tools.workspace import Workspace

T = TypeVar("T")

_PATIENCE = 3.0
"""Seconds for a server to say goodbye, or to show that it is there."""
_END = 20.0
_SESSION_TERMINATED = 32600
"""How the SDK tells that a server at an address does not know our session any more."""
_CLIENT = types.Implementation(name="manus", version="0.1.0")


class NotSentError(Exception):
    """The connection was gone before the request: the server has not seen it."""


class LostError(Exception):
    """The connection broke while a request was under way: it may have taken effect."""


class Connection:
    """An initialised session, held open by a task of its own until it is closed or breaks."""

    def __init__(self, name: str, server: McpServer, workspace: Workspace) -> None:
        self._name = name
        self._server = server
        self._workspace = workspace
        self._closing = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._session: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._last_words: Callable[[], str] = str
        self.on_change: Callable[[], None] = lambda: None
        """Called when the server says that its tools have changed."""

    @property
    def is_alive(self) -> bool:
        """Whether it is not known to have ended."""
        return self._owner is not None and not self._owner.done()

    async def open(self) -> None:
        """Connect.

        Raises:
            ToolUnavailableError: it is not there, refuses us, or does not answer in time.
        """
        self._owner = asyncio.create_task(self._own())
        seconds = self._server.connect_timeout
        try:
            waiting: set[asyncio.Future[Any]] = {self._owner, self._session}
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close(at_once=True)
            raise
        if self._session.done():
            return
        reason = self._why() if self._owner.done() else f"it did not answer within {seconds:g} s"
        said = f" (it said: {words})" if (words := self._last_words()) else ""
        await self.close(at_once=True)
        raise ToolUnavailableError(
            f"The MCP server `{self._name}` ({self._server.place}) cannot be used: {reason}{said}."
        )

    async def _own(self) -> None:
        async with reach(self._server, self._workspace) as streams:
            session = ClientSession(
                streams.read,
                streams.write,
                client_info=_CLIENT,
                message_handler=self._hear,
                # only a program of ours: at an address, a folder of this machine means nothing
                list_roots_callback=self._roots if self._server.folders else None,
            )
            try:
                async with session:
                    await session.initialize()
                    self._session.set_result(session)
                    await self._until_over(streams)
            finally:
                words = streams.last_words()
                self._last_words = lambda: words

    async def _until_over(self, streams: Streams) -> None:
        ends = [asyncio.ensure_future(event.wait()) for event in (self._closing, streams.ended)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()

    async def _roots(self, context: Any) -> types.ListRootsResult:  # noqa: ARG002 - the SDK's name
        paths = [_absolute(folder, self._workspace.root) for folder in self._server.folders]
        roots = [types.Root(uri=FileUrl(path.as_uri()), name=path.name) for path in paths]
        return types.ListRootsResult(roots=roots)

    async def _hear(self, message: Any) -> None:
        root = getattr(message, "root", None)
        if isinstance(root, types.ToolListChangedNotification):
            self.on_change()

    async def request(self, ask: Callable[[ClientSession], Coroutine[Any, Any, T]]) -> T:
        """The answer to a request, however long it takes.

        Raises:
            NotSentError, LostError: as they say.
            McpError: the server answered with an error.
        """
        if not self.is_alive or self._owner is None:
            raise NotSentError
        work = asyncio.ensure_future(ask(self._session.result()))
        try:
            await asyncio.wait({work, self._owner}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            raise NotSentError if self._was_refused() else LostError
        except McpError as error:
            if error.error.code == types.CONNECTION_CLOSED:
                raise LostError from None
            if error.error.code == _SESSION_TERMINATED:
                raise NotSentError from None
            raise
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise NotSentError from None
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def answers(self) -> bool:
        """Whether the server still answers at all."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self.request(lambda session: session.send_ping())
        except McpError:
            return True  # it knows no ping, but it said so
        except (TimeoutError, NotSentError, LostError):
            return False
        return True

    async def close(self, *, at_once: bool = False) -> None:
        """End it, and the program that it started."""
        self._closing.set()
        if self._owner is None:
            return
        if not at_once:
            await asyncio.wait({self._owner}, timeout=_PATIENCE)
        self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=_END)
        if self._owner.done() and not self._owner.cancelled():
            self._owner.exception()  # seen: nobody else will ask for it

    def _error(self) -> BaseException | None:
        """What ended it, or None; the first that is not made of others."""
        if self._owner is None or not self._owner.done() or self._owner.cancelled():
            return None
        error = self._owner.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return error

    def _was_refused(self) -> bool:
        error = self._error()
        if isinstance(error, httpx.HTTPStatusError):
            return error.response.is_client_error
        return isinstance(error, httpx.ConnectError)

    def _why(self) -> str:
        error = self._error()
        if isinstance(error, httpx.HTTPStatusError):
            response = error.response
            return f"it answers {response.status_code} {response.reason_phrase}".rstrip()
        if isinstance(error, httpx.HTTPError):
            return f"it cannot be reached ({type(error).__name__})"
        if error is None or _is_about_the_end(error):
            return "it ended at once"
        text = str(error).strip().rstrip(".") or type(error).__name__
        return text if isinstance(error, ManusError) else f"{type(error).__name__}: {text}"


def _is_about_the_end(error: BaseException) -> bool:
    if isinstance(error, McpError):
        return error.error.code == types.CONNECTION_CLOSED
    return isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError)


def _absolute(folder: str, root: Path) -> Path:
    """Without a look at the disk: the event loop must not wait for it."""
    return Path(os.path.normpath(root / Path(folder).expanduser()))
