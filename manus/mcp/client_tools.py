"""What one client of ours is served with: tools of a profile in a session of its own, and runs."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp import types

from manus.graph.profiles import profile_named
from manus.mcp.runs import RUNS, RunArguments, Tell, work
from manus.state.agent import ToolTask
from manus.state.settings import Settings
from manus.tools.call import call_tool
from manus.tools.catalog import asks_for_mcp, build_catalog
from manus.tools.session import Session
from manus.tools.workspace import Workspace

_NOT_SERVED = frozenset({"ask_human", "terminate", "planning"})
"""They only have a meaning within a run."""


class ClientTools:
    """Serves one client; closed when it goes."""

    def __init__(self, settings: Settings, profile: str, workspace: Workspace) -> None:
        self._settings = settings
        self._profile = profile_named(profile)
        self._workspace = workspace
        self._session = Session(workspace, profile=self._profile, settings=settings)
        entries = [e for e in self._profile.tools if e not in _NOT_SERVED and not asks_for_mcp(e)]
        self._catalog = build_catalog(entries, self._session)

    def listed(self) -> list[types.Tool]:
        """What is offered."""
        schema = RunArguments.model_json_schema()
        offered = [types.Tool(name=n, description=d, inputSchema=schema) for n, d in RUNS.items()]
        for tool in self._catalog:
            function = convert_to_openai_tool(tool)["function"]
            about, schema = function["description"], function["parameters"]
            offered.append(types.Tool(name=tool.name, description=about, inputSchema=schema))
        return offered

    async def call(self, name: str, arguments: dict[str, Any], tell: Tell) -> types.CallToolResult:
        """Carry out a call. A cancelled one clears up after itself while others are served."""
        task = asyncio.create_task(self._call(name, arguments, tell))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # apart from the client's own scope, which would cancel each line of the clearing up
            task.cancel()
            raise

    async def _call(self, name: str, arguments: dict[str, Any], tell: Tell) -> types.CallToolResult:
        if name in RUNS:
            place = str(self._workspace.root)
            return await work(name, arguments, tell, self._settings, self._profile.name, place)
        call = secrets.token_hex(8)
        outcome = await call_tool(
            ToolTask(index=0, id=call, name=name, args=arguments),
            session=self._session,
            catalog=self._catalog,
            key=call,
            max_observe=self._profile.max_observe,
        )
        message = outcome.message
        return types.CallToolResult(
            content=[_block(part) for part in message.content_blocks],
            isError=message.status == "error",
        )

    async def close(self) -> None:
        """End what the client's calls have left open."""
        await self._session.close()


def _block(part: Any) -> types.ContentBlock:
    if part["type"] == "image":
        return types.ImageContent(type="image", data=part["base64"], mimeType=part["mime_type"])
    return types.TextContent(type="text", text=part["text"])
