"""A task that an agent gives to another one, which works on it in a context of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from manus.nodes.active_run import Running
from manus.nodes.inner_run import InnerRun, run_inside
from manus.prompts.sources import AGENT
from manus.state.errors import SettingsError, ToolError
from manus.state.events import DelegateActionEvent
from manus.state.outside import passed_on
from manus.state.usage import Spending
from manus.tools.own import is_own
from manus.tools.result import Observation


async def run_delegated(
    call_id: str,
    running: Running,
    step: int,
    lines: list[Spending],
    config: RunnableConfig,
    emit: Callable[[Any], None],
    task: str,
    profile: str,
) -> Observation:
    """Have an agent of that profile carry out the task; its answer is the observation.

    Raises:
        ToolError: there is no such profile.
        GraphBubbleUp: it asks a person.
    """
    graph = await asyncio.to_thread(_graph, running, profile)

    def tell(event: dict[str, Any]) -> None:
        emit(
            DelegateActionEvent(
                type="delegate_action", id=call_id, profile=graph.profile.name, event=event
            )
        )

    name = str(config.get("configurable", {}).get("checkpoint_ns") or call_id)
    async with running.slots:
        inner = await run_inside(running, graph, _request(task, running), config, name, tell)
    lines += _lines(inner, step)
    source = AGENT if inner.has_read_outside else ""
    if inner.succeeded:
        return Observation(inner.output, source=source)
    return Observation(f"Not done: {inner.reason}.", is_error=True, source=source)


def _request(task: str, running: Running) -> HumanMessage:
    """The task: the words of an agent, which name no host for the user."""
    reach = running.session.reach
    return HumanMessage(task, additional_kwargs=passed_on(" ".join(reach.named), reach.outside))


def _graph(running: Running, profile: str) -> Any:
    if running.agent_named is None or is_own(profile):  # a model names no code to be imported
        raise ToolError(f"There is no profile `{profile}`.")
    try:
        return running.agent_named(profile.lower())
    except SettingsError as error:
        raise ToolError(str(error)) from None


def _lines(inner: InnerRun, step: int) -> list[Spending]:
    """What it used, by role, on the account of the step that the call belongs to."""
    of_role: Any = {"step": step}
    lines = [
        cast(Spending, {**used, **of_role, "role": role})
        for role, used in inner.usage.get("roles", {}).items()
    ]
    for line in lines[:1]:
        line["tool_calls"] = inner.usage["tool_calls"]
        line["estimated"] = inner.usage.get("estimated", False)
    return lines
