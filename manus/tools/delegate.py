"""`delegate`: give a task to another agent, which works in its own context window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Observation
from manus.state.errors import ToolError

DELEGATE = "delegate"
agent_at_work: ContextVar[Callable[[str, str], Awaitable[Observation]]] = ContextVar("agent")
"""The function that runs an agent with a task and a profile name. Set by the caller of the tool."""


class DelegateArgs(Arguments):
    """Arguments of `delegate`."""

    task: str = Field(
        description="What to do, and what to report. The agent sees nothing of this "
        "conversation: include all names, paths and facts that it needs"
    )
    profile: str = Field(
        "manus",
        description="`manus` (general), `swe` (code), `browser` (web pages), `data_analysis`, or "
        "a profile of the user",
    )


class Delegate(AgentTool):
    """The tool that runs another agent with its own journal, and returns its answer."""

    name: str = DELEGATE
    description: str = (
        "Give a task to another agent, which works in the same workspace with its own context, "
        "and get its answer. For work of which you need only the result, such as reading many "
        "files or pages. Several calls in one message run in parallel: give them parts that do "
        "not touch the same files."
    )
    summary: ClassVar[str] = (
        "have another agent read many files or pages, in its own context, and answer"
    )
    args_schema: type[BaseModel] = DelegateArgs
    time_limit: ClassVar[float] = 86_400.0  # its own steps and the run's budget end it
    without_effect: ClassVar[bool] = True
    """A repeated call is idempotent: the agent continues, and its journal records its effects."""

    @override
    async def observe(self, task: str, profile: str = "manus", **_: Any) -> Observation:
        run = agent_at_work.get(None)
        if run is None:
            raise ToolError("`delegate` can only be called by an agent during a run.")
        return await run(task, profile)
