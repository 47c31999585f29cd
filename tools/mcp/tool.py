"""A tool of an MCP server as a tool of ours."""

from __future__ import annotations

from typing import Any

from mcp import types
from pydantic import Field
from typing_extensions import override

from manus.tools.base import AgentTool
from manus.tools.locks import EVERYTHING, Resource
from manus.tools.mcp.content import to_observation
from manus.tools.mcp.server import Server
from manus.tools.result import Observation
from manus.tools.session import Session

_LONGEST_DESCRIPTION = 4_000


class McpTool(AgentTool):
    """Calls a tool of a server; the server checks the arguments."""

    server: Any = Field(exclude=True, repr=False)
    told: types.Tool = Field(exclude=True, repr=False)
    """What the server says of it."""
    is_read_only: bool = False
    """Whether the user's settings say that a call changes nothing."""

    @override
    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset({Resource(EVERYTHING, write=not self.is_read_only)})

    @override
    def read_only(self, args: dict[str, Any]) -> bool:
        return self.is_read_only

    @override
    async def observe(self, *_: Any, **arguments: Any) -> Observation:
        result = await self.server.call(self.told.name, arguments)
        return await to_observation(result, self.session.workspace)


def to_tool(told: types.Tool, name: str, server: Server, session: Session) -> McpTool:
    """The tool that a server told of, under its name for the model."""
    about = told.description or told.title or f"`{told.name}` of the MCP server `{server.name}`."
    schema = {key: value for key, value in told.inputSchema.items() if key != "$schema"}
    return McpTool(
        name=name,
        description=about[:_LONGEST_DESCRIPTION],
        args_schema={"properties": {}, **schema, "type": "object"},
        session=session,
        server=server,
        told=told,
        is_read_only=told.name in server.settings.read_only,
    )
