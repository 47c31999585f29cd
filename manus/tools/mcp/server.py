"""A configured MCP server in a session, which connects when needed, and reconnects."""

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
from manus.tools.mcp.pins import select_trusted
from manus.tools.mcp.transport import connect
from manus.version import VERSION

log = logging.getLogger("manus")

T = TypeVar("T")
Ask = Callable[[ClientSession], Coroutine[Any, Any, T]]

_MAX_PAGES = 100
"""Maximum number of pages of a tool list."""
_CLOSE_TIMEOUT = 20.0
"""Seconds to wait for a server to exit."""
_SANDBOX_HINT = " It runs in the sandbox; `sandbox = false` in its settings starts it without one."
_SESSION_TERMINATED = 32600
"""The SDK's error code if a server no longer knows our session."""
_CLIENT = types.Implementation(name="manus", version=VERSION)


class LostError(Exception):
    """The connection broke during a request, which may have taken effect."""


class NotSentError(LostError):
    """The connection broke before the request, so the server has not received it."""


class Connection:
    """An initialized session, held open by its own task until it is closed or breaks."""

    def __init__(self, server: ServerClient, session: Session) -> None:
        self._server = server
        self._run = session
        self._session: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._last_words = ""
        self._owner = asyncio.create_task(self._hold_open())

    async def open(self) -> None:
        """Wait until the connection is open.

        Raises:
            ToolUnavailableError: the server is unreachable, refuses the connection or times out.
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
        reason = self._describe_error()
        if is_late:
            reason = f"it did not respond within {seconds:g} s"
        if self._last_words:
            reason += f" (its last output: {self._last_words})"
        hint = _SANDBOX_HINT if settings.confined else ""
        raise ToolUnavailableError(
            f"The MCP server `{self._server.name}` ({settings.place}) cannot be used: "
            f"{reason}.{hint}"
        )

    async def _hold_open(self) -> None:
        options: dict[str, Any] = {
            "client_info": _CLIENT,
            "message_handler": self._server.on_message,
        }
        async with connect(self._server.settings, self._run) as (read, write, last_words):
            try:
                async with ClientSession(read, write, **options) as session:
                    await session.initialize()
                    self._session.set_result(session)
                    await anyio.sleep_forever()
            finally:
                self._last_words = last_words()

    async def request(self, ask: Ask[T]) -> T:
        """Send a request and return its response, without a timeout.

        Raises:
            LostError: the connection broke during the request.
            NotSentError: the connection broke before the request.
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
            # many servers answer 400 or 401, not 404, to a session they do not know
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
        """Close the connection, and stop the program that was started for it."""
        self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=_CLOSE_TIMEOUT)
        if self._owner.done() and not self._owner.cancelled():
            self._owner.exception()  # retrieve it, or asyncio logs it

    def _error(self) -> BaseException | None:
        """Return the error that ended the connection: of an exception group, the first one."""
        error = None if self._owner.cancelled() else self._owner.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return error

    def _describe_error(self) -> str:
        match error := self._error():
            case httpx.HTTPStatusError(response=response):
                return f"it returned {response.status_code} {response.reason_phrase}".rstrip()
            case httpx.HTTPError():
                return f"it cannot be reached ({type(error).__name__})"
            case ManusError():
                return str(error).rstrip(".")
            case McpError() if error.error.code != types.CONNECTION_CLOSED:
                return f"it refused the connection ({error.error.message})"
        return "it exited at once"


class ServerClient:
    """The client of one server, which lists its tools and calls them."""

    def __init__(self, name: str, settings: McpServer, session: Session) -> None:
        self.name = name
        self.source = f"{MCP} {name}"
        self.settings = settings
        self.tools: list[types.Tool] = []
        """The trusted tools; empty if the server is unreachable."""
        self.problem: str | None = None
        """Why the server is unreachable, as a sentence."""
        self._session = session
        self._is_stale = True
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._listing = asyncio.Lock()

    async def on_message(self, message: Any) -> None:
        """Handle a message from the server: request the tool list again if it has changed."""
        if isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
            self._is_stale = True

    async def refresh(self) -> None:
        """List the tools, if this is the first time or if they changed.

        After a failure the existing tools remain, and `problem` is set.
        """
        async with self._listing:
            if not self._is_stale:
                return
            try:
                # connect first: a new connection marks the tools as stale
                await self._ensure_connection()
                self._is_stale = False
                offered = await self._ask(_list_tools, self.settings.connect_timeout)
                self.tools = await asyncio.to_thread(
                    select_trusted, self.name, self.settings, offered
                )
                self.problem = None
                return
            except ToolUnavailableError as error:
                self._is_stale = False
                self.problem = str(error)
            except (TimeoutError, LostError, McpError) as error:
                why = str(error) or "it did not respond"
                self.problem = f"The MCP server `{self.name}` does not list its tools: {why}."
            log.warning("%s The run continues without it.", self.problem)

    async def call(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Call a tool. A call that may have taken effect is never repeated.

        Raises:
            ToolError: the server refused the call, exited, or did not respond in time.
        """
        # not `call_tool`, which drops a reply that does not match the server's own schema
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
            problem = f"The MCP server `{self.name}` could not be reached; do without it."
            raise ToolUnavailableError(problem) from None
        except (LostError, TimeoutError) as error:
            failure = "exited before it responded"
            if isinstance(error, TimeoutError):
                failure = f"did not respond within {seconds:g} s"
            raise ToolError(
                f"The MCP server `{self.name}` {failure}. The call may have taken effect, partly "
                "or completely; the next call reconnects."
            ) from None

    async def _ask(self, ask: Ask[T], seconds: float) -> T:
        """Send a request and return its response; reconnect if the server has not received it."""
        try:
            return await self._ask_once(ask, seconds)
        except NotSentError:
            return await self._ask_once(ask, seconds)

    async def _ask_once(self, ask: Ask[T], seconds: float) -> T:
        connection = await self._ensure_connection()
        try:
            async with asyncio.timeout(seconds):
                return await connection.request(ask)
        except (LostError, TimeoutError):
            await self._drop(connection)
            raise

    async def _ensure_connection(self) -> Connection:
        async with self._connecting:
            if self._connection is None:
                connection = Connection(self, self._session)
                await connection.open()
                self._connection = connection
                self._is_stale = True
            return self._connection

    async def _drop(self, connection: Connection | None) -> None:
        """Close a connection, unless another one has already replaced it."""
        async with self._connecting:
            if connection is not None and connection is self._connection:
                self._connection = None
                await connection.close()

    async def close(self) -> None:
        """Close the connection; a server that was started for it has then exited."""
        await self._drop(self._connection)


async def _list_tools(session: ClientSession) -> list[types.Tool]:
    tools: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await session.list_tools(params=params)
        tools.extend(page.tools)
        cursor = page.nextCursor
        if not cursor:
            break
    return tools
