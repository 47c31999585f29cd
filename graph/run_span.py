"""The span of a run: `invoke_agent {profile}`, or `invoke_workflow flow`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig

from manus.graph.tracing import is_tracing
from manus.models.chat_span import model_attributes
from manus.models.spoken import spoken
from manus.nodes.active_run import SHARE, Running
from manus.state import tracing
from manus.state.messages import last_request

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph

_END = object()
_ENDS = ("status", "stop_reason", "success")
_USED = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "model_calls": "manus.usage.model_calls",
    "tool_calls": "manus.usage.tool_calls",
    "cost": "manus.usage.cost",
}


async def traced(
    stream: AsyncGenerator[Any],
    graph: RunGraph,
    given: Any,
    running: Running,
    config: RunnableConfig,
) -> AsyncGenerator[Any]:
    """The stream of a run, recorded as a span if tracing is on."""
    if not await is_tracing():
        return stream
    return _Recorder(graph, running, config).recorded(stream, given)


class _Recorder:
    def __init__(self, graph: RunGraph, running: Running, config: RunnableConfig) -> None:
        self._graph, self._running, self._config = graph, running, config
        self._values: Mapping[str, Any] = {}

    async def recorded(self, stream: AsyncGenerator[Any], given: Any) -> AsyncGenerator[Any]:
        """Pass the parts on.

        The span is at work while a part is waited for, and not while the caller has it: what the
        caller does between two parts is not done by the run.
        """
        span = self._opened()
        span.set_content("gen_ai.input.messages", lambda: _asked(given))
        error: BaseException | None = None
        try:
            async with aclosing(stream) as parts:
                while True:
                    with span.at_work():
                        part = await anext(parts, _END)
                    if part is _END:
                        break
                    self._look(part)
                    yield part
            await self._tell_end(span)
        except BaseException as raised:
            error = raised
            raise
        finally:
            span.close(error)

    def _opened(self) -> tracing.Recorded:
        configurable = self._config.get("configurable", {})
        profile, operation = self._graph.profile, self._graph.operation
        kind = operation.removeprefix("invoke_")
        attributes: dict[str, tracing.Value] = {
            "gen_ai.operation.name": operation,
            f"gen_ai.{kind}.name": profile.name,
            "gen_ai.agent.description": profile.description if kind == "agent" else None,
            **model_attributes(self._running.model_settings(profile.role).with_fallbacks()[0]),
        }
        if (step := configurable.get(SHARE)) is not None:
            attributes["manus.plan.step"] = int(step)
        thread = configurable.get("thread_id")
        name = f"{operation} {profile.name}"
        return tracing.opened(name, attributes, conversation=str(thread) if thread else None)

    def _look(self, part: Any) -> None:
        """Keep the newest state, where the caller streams it."""
        if isinstance(part, tuple) and part[-2:-1] == ("values",):
            part = part[-1]
        if isinstance(part, Mapping) and "stop_reason" in part and "usage" in part:
            self._values = part

    async def _tell_end(self, span: tracing.Recorded) -> None:
        if not span.is_recorded:
            return
        if self._running.session.waiting:
            span.event("manus.interrupt", {})
            span.set({"manus.run.stop_reason": "interrupted"})
            return
        values = self._values or await self._graph.stored_values(self._config)
        span.set({f"manus.run.{name}": values.get(name) for name in _ENDS})
        usage = values.get("usage") or {}
        span.set({name: usage.get(key) for key, name in _USED.items()})
        span.set(_of_plan(values.get("plan")))
        if values.get("stop_reason") == "error":
            span.fail("model_error")
        said = str(values.get("output") or "")
        span.set_content("gen_ai.output.messages", lambda: [spoken(AIMessage(said))])


def _of_plan(plan: Any) -> dict[str, tracing.Value]:
    steps = plan["steps"] if plan else []
    if not steps:
        return {}
    done = sum(step["status"] == "completed" for step in steps)
    return {"manus.plan.steps": len(steps), "manus.plan.steps.completed": done}


def _asked(given: Any) -> list[Any]:
    """What the run was asked, the newest request; nothing for one that goes on."""
    messages = given.get("messages") if isinstance(given, dict) else None
    request = last_request(messages) if isinstance(messages, list) else None
    return [spoken(request)] if request is not None else []
