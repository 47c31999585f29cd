"""A configured server in a session: its connection, made when needed and again when it broke."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
import httpx
from mcp import ClientSession, McpError, types

from manus.config.mcp_settings import McpServer
from manus.execution.session import Session
from manus.prompts.sources import MCP
from manus.state.errors import ManusError, ToolError, ToolUnavailableError
from manus.tools.mcp.pins import trusted_tools
from manus.tools.mcp.transport import reached

log = logging.getLogger("manus")

T = TypeVar("T")
Ask = Callable[[ClientSession], Coroutine[Any, Any, T]]

_PAGES = 100
"""Pages of a list of tools that are read at most."""
_END = 20.0
"""Seconds for a server to end."""
_CONFINED = " It is started in the sandbox; `sandbox = false` in its settings gives it the machine."
_SESSION_TERMINATED = 32600
"""How the SDK tells that a server at an address does not know our session any more."""
_CLIENT = types.Implementation(name="manus", version="0.1.0")


class LostError(Exception):
    """The connection broke while a request was under way: it may have taken effect."""


class NotSentError(LostError):
    """The connection was gone before the request: the server has not seen it."""


class Connection:
    """An initialised session, held open by a task of its own until it is closed or breaks."""

    def __init__(self, server: Server, session: Session) -> None:
        self._server = server
        self._run = session
        self._session: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._said = ""
        self._owner = asyncio.create_task(self._own())

    async def open(self) -> None:
        """Wait until it is there.

        Raises:
            ToolUnavailableError: it is not there, refuses us, or does not answer in time.
        """
        settings = self._server.settings
        seconds = settings.connect_timeout
        waiting: set[asyncio.Future[Any]] = {self._owner, self._session}
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_late = not self._owner.done()
            if not self._session.done():
                await self.close()
        if self._session.done():
            return
        reason = f"it did not answer within {seconds:g} s" if is_late else self._why()
        said = f" (it said: {self._said})" if self._said else ""
        raise ToolUnavailableError(
            f"The MCP server `{self._server.name}` ({settings.place}) cannot be used: "
            f"{reason}{said}.{_CONFINED if settings.confined else ''}"
        )

    async def _own(self) -> None:
        more: dict[str, Any] = {"client_info": _CLIENT, "message_handler": self._server.hear}
        async with reached(self._server.settings, self._run) as (read, write, last_words):
            try:
                async with ClientSession(read, write, **more) as session:
                    await session.initialize()
                    self._session.set_result(session)
                    await anyio.sleep_forever()
            finally:
                self._said = last_words()

    async def request(self, ask: Ask[T]) -> T:
        """The answer to a request, however long it takes.

        Raises:
            LostError, NotSentError: as they say.
            McpError: the server answered with an error.
        """
        if self._owner.done():
            raise NotSentError
        work = asyncio.ensure_future(ask(self._session.result()))
        try:
            await asyncio.wait({work, self._owner}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            error = self._error()
            # many answer 400 or 401, not 404, to a session that they have forgotten
            is_refused = isinstance(error, httpx.HTTPStatusError) and error.response.is_client_error
            raise NotSentError if is_refused or isinstance(error, httpx.ConnectError) else LostError
        except McpError as refusal:
            if refusal.error.code == types.CONNECTION_CLOSED:
                raise LostError from None
            if refusal.error.code == _SESSION_TERMINATED:
                raise NotSentError from None
            raise
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise NotSentError from None
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def close(self) -> None:
        """End it, and the program that it started."""
        self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=_END)
        if self._owner.done() and not self._owner.cancelled():
            self._owner.exception()  # seen: nobody else will ask for it

    def _error(self) -> BaseException | None:
        """What ended it; of errors that are made of others, the first."""
        error = None if self._owner.cancelled() else self._owner.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return error

    def _why(self) -> str:
        match error := self._error():
            case httpx.HTTPStatusError(response=response):
                return f"it answers {response.status_code} {response.reason_phrase}".rstrip()
            case httpx.HTTPError():
                return f"it cannot be reached ({type(error).__name__})"
            case ManusError():
                return str(error).rstrip(".")
            case McpError() if error.error.code != types.CONNECTION_CLOSED:
                return f"it refuses us ({error.error.message})"
        return "it ended at once"


class Server:
    """Calls tools of one server, and knows which there are."""

    def __init__(self, name: str, settings: McpServer, session: Session) -> None:
        self.name = name
        self.source = f"{MCP} {name}"
        self.settings = settings
        self.tools: list[types.Tool] = []
        """As far as they are known and trusted; none if the server could not be reached."""
        self.problem: str | None = None
        """Why it could not be reached, in a sentence."""
        self._session = session
        self._is_stale = True
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._listing = asyncio.Lock()

    async def hear(self, message: Any) -> None:
        """Take note that the server has other tools now."""
        if isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
            self._is_stale = True

    async def refresh(self) -> None:
        """Ask which tools there are, for the first time or since they changed.

        A server that cannot say keeps those known, and a problem.
        """
        async with self._listing:
            if not self._is_stale:
                return
            try:
                # a connection made just now says itself that its tools are new
                await self._connected()
                self._is_stale = False
                offered = await self._ask(_all_tools, self.settings.connect_timeout)
                self.tools = await asyncio.to_thread(
                    trusted_tools, self.name, self.settings, offered
                )
                self.problem = None
                return
            except ToolUnavailableError as error:
                self._is_stale = False
                self.problem = str(error)
            except (TimeoutError, LostError, McpError) as error:
                why = str(error) or "it did not answer"
                self.problem = f"The MCP server `{self.name}` does not tell its tools: {why}."
            log.warning("%s The run goes on without it.", self.problem)

    async def call(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Call a tool. Never sent twice: a call that may have taken effect is not repeated.

        Raises:
            ToolError: the server refused it, ended, or did not answer in time.
        """
        # not `call_tool`, which drops a reply that does not fit the schema the server itself gave
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        request = types.ClientRequest(types.CallToolRequest(params=params))
        seconds = self.settings.call_timeout
        try:
            return await self._ask(
                lambda session: session.send_request(request, types.CallToolResult), seconds
            )
        except McpError as error:
            raise ToolError(f"The MCP server refused the call: {error.error.message}") from None
        except NotSentError:
            said = f"The MCP server `{self.name}` did not take the call, twice; do without it."
            raise ToolUnavailableError(said) from None
        except (LostError, TimeoutError) as error:
            is_late = isinstance(error, TimeoutError)
            what = f"did not answer within {seconds:g} s" if is_late else "ended before it answered"
            raise ToolError(
                f"The MCP server `{self.name}` {what}. The call may have taken effect, in part or "
                "whole; the next call connects again."
            ) from None

    async def _ask(self, ask: Ask[T], seconds: float) -> T:
        """The answer to a request; connects again for one that the server has not seen."""
        try:
            return await self._ask_once(ask, seconds)
        except NotSentError:
            return await self._ask_once(ask, seconds)

    async def _ask_once(self, ask: Ask[T], seconds: float) -> T:
        connection = await self._connected()
        try:
            async with asyncio.timeout(seconds):
                return await connection.request(ask)
        except (LostError, TimeoutError):
            await self._drop(connection)
            raise

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None:
                connection = Connection(self, self._session)
                await connection.open()
                self._connection = connection
                self._is_stale = True
            return self._connection

    async def _drop(self, connection: Connection | None) -> None:
        """Close a connection, unless another has taken its place already."""
        async with self._connecting:
            if connection is not None and connection is self._connection:
                self._connection = None
                await connection.close()

    async def close(self) -> None:
        """End the connection; a server of ours has ended afterwards."""
        await self._drop(self._connection)


async def _all_tools(session: ClientSession) -> list[types.Tool]:
    tools: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await session.list_tools(params=params)
        tools.extend(page.tools)
        cursor = page.nextCursor
        if not cursor:
            break
    return tools
