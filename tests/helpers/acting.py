"""A tool whose behavior is defined by the test, and functions that call it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.call import call_tool
from manus.calls.catalog import Catalog
from manus.calls.result import Observation, ToolResult
from manus.calls.session import Resource, Session
from manus.state.agent import ToolTask


class ActArgs(Arguments):
    text: str = Field("", description="Any text")
    resource: str | None = Field(None, description="What it touches; everything if left out")


class Act(AgentTool):
    """Calls a function of the test, and records its calls."""

    name: str = "act"
    description: str = "Does what a test says."
    args_schema: type[BaseModel] = ActArgs
    channels: ClassVar[frozenset[str]] = frozenset({"n"})
    does: Callable[..., Any] = lambda text: Observation(text)
    pure: bool = False
    calls: list[str] = Field(default_factory=list)

    @override
    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        resource = args.get("resource")
        return frozenset({Resource(resource)}) if resource else super().resources(args)

    @override
    def read_only(self, args: dict[str, Any]) -> bool:
        return self.pure

    @override
    async def observe(self, *_: Any, text: str = "", **__: Any) -> Observation:
        self.calls.append(text)
        result = self.does(text)
        observation: Observation = await result if asyncio.iscoroutine(result) else result
        return observation


async def execute_alone(
    session: Session,
    tool: BaseTool,
    args: dict[str, Any] | None = None,
    *,
    key: str = "key",
    name: str | None = None,
    limit: int = 10_000,
    refusal: str = "",
) -> ToolResult:
    """Execute a call of a tool, alone in its catalog."""
    task = ToolTask(index=0, id="c1", name=name or tool.name, args=args or {})
    if refusal:
        task["refusal"] = refusal
    session.settings = replace(session.settings, max_observe=limit)
    return await call_tool(task, session=session, catalog=Catalog([tool]), key=key)


async def get_error(session: Session, tool: BaseTool, args: dict[str, Any] | None = None) -> str:
    """Return the error message of a call that must fail."""
    message = (await execute_alone(session, tool, args)).message
    assert message.status == "error", message
    return str(message.text)


def raising(error: BaseException) -> Callable[[str], Observation]:
    def does(text: str) -> Observation:
        raise error

    return does
