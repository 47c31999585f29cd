"""A configured MCP server in a session, which connects when needed, and reconnects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

from manus.calls.session import Session
from manus.config.mcp_settings import McpServer
from manus.prompts.sources import MCP
from manus.sandbox.process_output import listener
from manus.state.errors import ManusError, ToolError, ToolUnavailableError
from manus.tools.mcp.definitions import (
    READ_RESOURCE,
    ToolDefinition,
    list_resources,
    list_tools,
    read_definitions,
    select_trusted,
)
from manus.tools.mcp.oauth import login_address
from manus.tools.mcp.sdk import (
    CONNECTION_CLOSED,
    Client,
    ProtocolError,
    Request,
    http,
    open_session,
)
from manus.tools.mcp.transport import connect

log = logging.getLogger("manus")

T = TypeVar("T")
Ask = Callable[[Request], Awaitable[T]]

_CLOSE_TIMEOUT = 20.0
"""Seconds to wait for a server to exit."""
_SANDBOX_HINT = " It runs in the sandbox; `sandbox = false` in its settings starts it without one."
_DECLINED = (
    "[The server asked the user during the call: {} This was declined, since a call cannot wait "
    "for a person. Ask the user, and pass the answer as an argument if the tool takes it.]"
)
_NEEDS_INPUT = (
    "The tool needs an answer of the user before it goes on, for which a call cannot wait. Ask the "
    "user, and pass the answer as an argument if the tool takes it."
)


class LostError(Exception):
    """The connection broke during a request, which may have taken effect."""


class NotSentError(LostError):
    """The connection broke before the request, so the server has not received it."""


class Connection:
    """An initialized session, held open by its own task until it is closed or breaks."""

    def __init__(self, server: ServerClient, session: Session) -> None:
        self._server = server
        self._run = session
        self._session: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
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
        async with connect(self._server.settings, self._run) as (streams, last_words):
            try:
                opening = open_session(streams, self._server.mark_stale, self._server.note_question)
                async with opening as client:
                    self._session.set_result(client)
                    await anyio.sleep_forever()
            finally:
                self._last_words = last_words()

    async def request(self, ask: Ask[T]) -> T:
        """Send a request and return its response, without a timeout.

        Raises:
            LostError: the connection broke during the request.
            NotSentError: the connection broke before the request.
            ProtocolError: the server answered with an error.
        """
        if self._owner.done():
            raise NotSentError
        work = asyncio.ensure_future(ask(self._session.result().request))
        try:
            await asyncio.wait({work, self._owner}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            error = self._error()
            # many servers answer 400 or 401, not 404, to a session they do not know
            is_refused = isinstance(error, http.HTTPStatusError) and error.response.is_client_error
            raise NotSentError if is_refused or isinstance(error, http.ConnectError) else LostError
        except ProtocolError as refusal:
            if refusal.code == CONNECTION_CLOSED:
                raise LostError from None
            raise
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise NotSentError from None
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    @property
    def has_resources(self) -> bool:
        """Return whether the server says that it has resources."""
        return self._session.result().has_resources

    async def close(self) -> None:
        """Close the connection, and stop the program that was started for it."""
        self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=_CLOSE_TIMEOUT)
        if self._owner.done() and not self._owner.cancelled():
            self._owner.exception()  # retrieve it, or asyncio logs it

    def _error(self) -> BaseException | None:
        """Return the error that ended the connection: of an exception group, the first one."""
        is_over = self._owner.done() and not self._owner.cancelled()
        error = self._owner.exception() if is_over else None
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return error

    def _describe_error(self) -> str:
        match error := self._error():
            case http.HTTPStatusError(response=response):
                reason = f"it returned {response.status_code} {response.reason_phrase}".rstrip()
                needs_login = response.status_code == 401 and login_address(self._server.settings)
                command = f"manus mcp login {self._server.name}"
                return f"{reason}; run `{command}` to log in" if needs_login else reason
            case http.HTTPError():
                return f"it cannot be reached ({type(error).__name__})"
            case ManusError():
                return str(error).rstrip(".")
            case ProtocolError() if error.code != CONNECTION_CLOSED:
                return f"it refused the connection ({error})"
        return "it exited at once"


class ServerClient:
    """The client of one server, which lists its tools and calls them."""

    def __init__(self, name: str, settings: McpServer, session: Session) -> None:
        self.name = name
        self.source = f"{MCP} {name}"
        self.settings = settings
        self.tools: list[ToolDefinition] = []
        """The trusted tools; empty if the server is unreachable."""
        self.problem: str | None = None
        """Why the server is unreachable, as a sentence."""
        self._session = session
        self._questions: list[str] = []
        self._is_stale = True
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._listing = asyncio.Lock()

    def mark_stale(self) -> None:
        """Request the tool list again: the server says that it has changed."""
        self._is_stale = True

    def note_question(self, question: str) -> None:
        """Keep a question to the user, which was declined, for the result of the call."""
        self._questions.append(question)

    async def refresh(self) -> None:
        """List the tools, if this is the first time or if they changed.

        After a failure the existing tools remain, and `problem` is set.
        """
        async with self._listing:
            if not self._is_stale:
                return
            try:
                # connect first: a new connection marks the tools as stale
                connection = await self._ensure_connection()
                self._is_stale = False
                seconds = self.settings.connect_timeout
                offered = self._read(await self._ask(list_tools, seconds))
                self.tools = await asyncio.to_thread(
                    select_trusted, self.name, self.settings, offered
                )
                if connection.has_resources:
                    resources = await self._ask(list_resources, seconds)
                    self._add_reader(resources)
                self.problem = None
                return
            except ToolUnavailableError as error:
                self._is_stale = False
                self.problem = str(error)
            except (TimeoutError, LostError, ProtocolError) as error:
                why = str(error) or "it did not respond"
                self.problem = f"The MCP server `{self.name}` does not list its tools: {why}."
            log.warning("%s The run continues without it.", self.problem)

    def _add_reader(self, resources: list[Any]) -> None:
        """Add the tool that reads resources, unless the server has a tool of that name."""
        if resources and all(tool.name != READ_RESOURCE.name for tool in self.tools):
            self.tools = [*self.tools, READ_RESOURCE]

    def _read(self, entries: list[Any]) -> list[ToolDefinition]:
        """Return the tools that are valid, and log a warning about the others."""
        tools, problems = read_definitions(entries)
        if problems:
            log.warning(
                "The MCP server `%s` offers tools that are not valid; the run continues without "
                "them: %s.",
                self.name,
                ", ".join(problems),
            )
        return tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool. A call that may have taken effect is never repeated.

        Raises:
            ToolError: the server refused the call, exited, or did not respond in time.
        """
        if tool == READ_RESOURCE.name and READ_RESOURCE in self.tools:
            return await self._read_resource(str(arguments.get("uri") or ""))
        params = {"name": tool, "arguments": arguments}
        self._questions.clear()
        emit = listener.get()  # of this call; the SDK reports from a task of its own

        async def report(done: float, total: float | None, message: str | None) -> None:
            if emit is not None:
                emit(message or (f"{done:g} of {total:g}" if total else f"{done:g}"))

        result = await self.ask(lambda ask: ask("tools/call", params, report))
        if result.get("resultType") == "input_required":  # the newest protocol
            raise ToolError(_NEEDS_INPUT)
        notes = [{"type": "text", "text": _DECLINED.format(text)} for text in self._questions]
        return {**result, "content": [*(result.get("content") or []), *notes]} if notes else result

    async def _read_resource(self, uri: str) -> dict[str, Any]:
        """Return a resource in the form of a result, or without an address, the resources."""
        if uri:
            contents = await self.read_resource(uri)
            return {"content": [{"type": "resource", "resource": each} for each in contents]}
        lines = [
            f"{entry.get('uri') or entry.get('uriTemplate')}: "
            f"{entry.get('description') or entry.get('name') or ''}"
            for entry in await self.ask(list_resources)
        ]
        return {"content": [{"type": "text", "text": "\n".join(lines)}]}

    async def read_resource(self, uri: str) -> list[Any]:
        """Return the contents of a resource. Raise as `ask` does."""
        result = await self.ask(lambda request: request("resources/read", {"uri": uri}))
        return list(result.get("contents") or [])

    async def ask(self, ask: Ask[T]) -> T:
        """Send a request, which is not repeated, and return its response.

        Raises:
            ToolError: the server refused, exited, or did not respond in time.
        """
        seconds = self.settings.call_timeout
        try:
            return await self._ask(ask, seconds)
        except ProtocolError as error:
            raise ToolError(f"The MCP server refused the call: {error}") from None
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
