"""A configured server in a session: its connection, made when needed and again when it broke."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from mcp import ClientSession, McpError, types

from manus.prompts.sources import MCP
from manus.state.errors import ToolError, ToolUnavailableError
from manus.state.mcp_settings import McpServer
from manus.tools.mcp.connection import Connection, LostError, NotSentError
from manus.tools.mcp.pins import trusted_tools
from manus.tools.session import Session

log = logging.getLogger("manus")

T = TypeVar("T")

_PAGES = 100
"""Pages of a list of tools that are read at most."""


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
        except LostError:
            raise ToolError(
                f"The MCP server `{self.name}` ended before it answered. The call may have taken "
                "effect, in part or whole; the next call connects again."
            ) from None
        except TimeoutError:
            raise ToolError(
                f"The MCP server `{self.name}` did not answer within {seconds:g} s. The call may "
                "have taken effect; the next one connects again. Try a smaller one."
            ) from None

    async def _ask(
        self, ask: Callable[[ClientSession], Coroutine[Any, Any, T]], seconds: float
    ) -> T:
        """The answer to a request; connects again for one that the server has not seen."""
        for _ in range(2):
            connection = await self._connected()
            try:
                async with asyncio.timeout(seconds):
                    return await connection.request(ask)
            except NotSentError:
                await self._drop(connection)
            except (LostError, TimeoutError):
                await self._drop(connection)
                raise
        raise ToolUnavailableError(
            f"The MCP server `{self.name}` ends its connections before it can be asked; "
            "do without it."
        )

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None:
                connection = Connection(self.name, self.settings, self._session, self._on_change)
                await connection.open()
                self._connection = connection
                self._is_stale = True
            return self._connection

    def _on_change(self) -> None:
        self._is_stale = True

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
