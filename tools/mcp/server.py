"""A configured server in a session: its connection, made when needed and again when it broke."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from mcp import ClientSession, McpError, types

from manus.state.errors import ToolError, ToolUnavailableError
from manus.state.mcp_settings import McpServer
from manus.tools.mcp.connection import Connection, LostError, NotSentError
from manus.tools.workspace import Workspace

log = logging.getLogger("manus")

_PAGES = 100
"""Pages of a list of tools that are read at most."""


class Server:
    """Calls tools of one server, and knows which there are."""

    def __init__(self, name: str, settings: McpServer, workspace: Workspace) -> None:
        self.name = name
        self.settings = settings
        self.workspace = workspace
        self.tools: list[types.Tool] = []
        """As far as they are known; none if the server could not be reached."""
        self.problem: str | None = None
        """Why it could not be reached, in a sentence."""
        self._is_stale = True
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._listing = asyncio.Lock()

    @property
    def is_stale(self) -> bool:
        """Whether its tools have to be asked for: for the first time, or since they changed."""
        return self._is_stale

    async def refresh(self) -> None:
        """Ask which tools there are. A server that cannot say keeps those known, and a problem."""
        async with self._listing:
            if not self._is_stale:
                return
            self._is_stale = False
            try:
                connection = await self._connected()
                async with asyncio.timeout(self.settings.connect_timeout):
                    self.tools = await connection.request(_all_tools)
                self.problem = None
            except ToolUnavailableError as error:
                self.problem = str(error)
            except (TimeoutError, NotSentError, LostError, McpError) as error:
                why = str(error) or "it did not answer"
                self.problem = f"The MCP server `{self.name}` does not tell its tools: {why}."
            # a connection made just now says itself that its tools are new
            if self.problem is not None:
                log.warning("%s The run goes on without it.", self.problem)

    async def call(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Call a tool. Never sent twice: a call that may have taken effect is not repeated.

        Raises:
            ToolError: the server refused it, ended, or did not answer in time.
        """
        try:
            return await self._call(tool, arguments)
        except NotSentError:
            await self._drop()
        try:
            return await self._call(tool, arguments)
        except NotSentError:
            await self._drop()
            raise ToolUnavailableError(
                f"The MCP server `{self.name}` ends its connections before it can be asked; "
                "do without it."
            ) from None

    async def _call(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        connection = await self._connected()
        seconds = self.settings.call_timeout
        try:
            async with asyncio.timeout(seconds):
                return await connection.request(lambda session: _call(session, tool, arguments))
        except McpError as error:
            raise ToolError(f"The MCP server refused the call: {error.error.message}") from None
        except LostError:
            await self._drop()
            raise ToolError(
                f"The MCP server `{self.name}` ended before it answered. The call may have taken "
                "effect, in part or whole; the next call connects again."
            ) from None
        except TimeoutError:
            if not await connection.answers():
                await self._drop()
            raise ToolError(
                f"The MCP server `{self.name}` did not answer within {seconds:g} s. The call may "
                "have taken effect; try a smaller one, or do without it."
            ) from None

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None or not self._connection.is_alive:
                await self._close_connection()
                connection = Connection(self.name, self.settings, self.workspace)
                connection.on_change = self._on_change
                again = bool(self.tools)
                await connection.open()
                self._connection = connection
                self._is_stale = self._is_stale or again
            return self._connection

    def _on_change(self) -> None:
        self._is_stale = True

    async def _drop(self) -> None:
        async with self._connecting:
            await self._close_connection()

    async def _close_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close(at_once=not connection.is_alive)

    async def close(self) -> None:
        """End the connection; a server of ours has ended afterwards."""
        await self._drop()


async def _call(
    session: ClientSession, tool: str, arguments: dict[str, Any]
) -> types.CallToolResult:
    # not `call_tool`, which drops a reply that does not fit the schema the server itself gave
    params = types.CallToolRequestParams(name=tool, arguments=arguments)
    request = types.ClientRequest(types.CallToolRequest(params=params))
    return await session.send_request(request, types.CallToolResult)


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
