"""One connection to a server, from its beginning to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
import httpx
from mcp import ClientSession, McpError, types

from manus.state.errors import ManusError, ToolUnavailableError
from manus.state.mcp_settings import McpServer
from manus.tools.mcp.transport import reach
from manus.tools.workspace import Workspace

T = TypeVar("T")

_END = 20.0
"""Seconds for a server to end."""
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
        self, name: str, server: McpServer, workspace: Workspace, on_change: Callable[[], None]
    ) -> None:
        self._name = name
        self._server = server
        self._workspace = workspace
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
        )

    async def _own(self) -> None:
        async with reach(self._server, self._workspace) as (read, write, last_words):
            session = ClientSession(
                read,
                write,
                client_info=_CLIENT,
                message_handler=self._hear,
            )
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
            raise NotSentError if self._was_refused() else LostError
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
        if isinstance(error, ManusError):
            return str(error).rstrip(".")
        if isinstance(error, McpError) and error.error.code != types.CONNECTION_CLOSED:
            return f"it refuses us ({error.error.message})"
        return "it ended at once"
