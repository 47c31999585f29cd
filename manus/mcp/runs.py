"""`agent` and `flow` as tools of our MCP server."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.types import Command
from mcp import types
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from manus.checkpoint import open_store
from manus.formatting import gist
from manus.graph.outcome import Outcome, outcome_of
from manus.graphs import build
from manus.questions import match_answers
from manus.state.context import HELD, Context
from manus.state.errors import ManusError, UsageError
from manus.state.settings import Settings
from manus.text import flat, main_argument
from manus.tools.workspace import Workspace

RUNS = {
    "agent": "Have a general agent work on a task, step by step, until it is done.",
    "flow": "Have a task planned first, and each step of the plan carried out by an agent.",
}
_SHOWN = 200


class RunArguments(BaseModel):
    """What a run is given."""

    model_config = ConfigDict(extra="forbid")

    request: str | None = Field(None, description="What to do, in words")
    thread: str | None = Field(
        None, description="The conversation to go on with, as an earlier result named it"
    )
    answer: str | None = Field(
        None, description="The answer to the question with which the thread waits, for `request`"
    )
    max_steps: int | None = Field(None, ge=1, description="Step budget")


async def work(
    kind: str,
    arguments: dict[str, Any],
    tell: Callable[[str], Awaitable[None]],
    settings: Settings,
    profile: str,
    workspace: Workspace,
) -> types.CallToolResult:
    """Run it to its end or its question; what it does is told in lines."""
    try:
        given = RunArguments.model_validate(arguments)
        if (given.request is None) == (given.answer is None or given.thread is None):
            raise UsageError("Give either a `request`, or a `thread` and an `answer`.")
        context = Context(workspace=str(workspace.root), max_steps=given.max_steps)
        outcome = await _run(kind, given, tell, settings, profile, context)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"]))
        return _said(f"The argument `{name}` does not fit: {problem['msg']}.", is_error=True)
    except ManusError as error:
        return _said(str(error), is_error=True)
    waits = bool(outcome.questions)
    hint = f"\n(Answer with `thread` {outcome.thread_id} and `answer`.)" if waits else ""
    result = _said(outcome.output + hint, is_error=not (outcome.success or waits))
    result.structuredContent = outcome.as_json()
    return result


async def _run(
    kind: str,
    given: RunArguments,
    tell: Callable[[str], Awaitable[None]],
    settings: Settings,
    profile: str,
    context: Context,
) -> Outcome:
    thread = given.thread or secrets.token_hex(5)
    words = (given.request or "")[:100]
    config: Any = {
        "configurable": {"thread_id": thread, HELD: True},
        "metadata": {"graph": kind, "profile": profile, "workspace": context.workspace},
    }
    if words:
        config["metadata"]["request"] = words
    async with open_store(settings) as store, store.hold(thread):
        graph = build(kind, profile, store.saver)
        start: Any = {"request": given.request}
        if given.answer is not None:
            waiting = outcome_of(await graph.aget_state(config)).questions
            start = Command(resume=match_answers([given.answer], waiting, thread))
        options = {"stream_mode": ["custom"], "subgraphs": True, "durability": "sync"}
        try:
            async for _, _, event in graph.astream(start, config, context=context, **options):
                if line := line_of(event):
                    await tell(line)
            return outcome_of(await graph.aget_state(config))
        finally:
            await graph.close_waiting()


def _said(text: str, *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], isError=is_error
    )


def line_of(event: Any) -> str:
    """What an event says to someone who waits; empty where it says nothing new."""
    kind = event.get("type") if isinstance(event, dict) else None
    if kind == "step":
        return f"Step {event['step']}/{event['max_steps']}"
    if kind == "thought":
        return flat(event["text"])[:_SHOWN]
    if kind == "call":
        return f"{event['name']}: {main_argument(event['args'])}"[:_SHOWN]
    if kind == "observation":
        label = "failed" if event["is_error"] else "done"
        return f"{event['name']} {label}: {gist(event['text'])}"[:_SHOWN]
    if kind == "plan":
        return f"Plan: {event['plan']['title']}, {len(event['plan']['steps'])} steps"[:_SHOWN]
    if kind == "plan_step":
        return f"Plan step {event['step']}: {event['status']}"
    if kind == "plan_action":
        return line_of(event["event"])
    return ""
