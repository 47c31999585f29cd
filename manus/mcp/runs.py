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
from manus.run import Job
from manus.state.context import HELD, Context
from manus.state.errors import ManusError, UsageError
from manus.state.settings import Settings
from manus.text import flat, main_argument

Tell = Callable[[str], Awaitable[None]]

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
    kind: str, arguments: dict[str, Any], tell: Tell, settings: Settings, profile: str, place: str
) -> types.CallToolResult:
    """Run it in the workspace `place` to its end or its question; what it does is told in lines."""
    try:
        given = RunArguments.model_validate(arguments)
        if (given.request is None) == (given.answer is None or given.thread is None):
            raise UsageError("Give either a `request`, or a `thread` and an `answer`.")
        outcome = await _run(kind, given, tell, settings, profile, place)
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
    kind: str, given: RunArguments, tell: Tell, settings: Settings, profile: str, place: str
) -> Outcome:
    thread = given.thread or secrets.token_hex(5)
    context = Context(workspace=place, max_steps=given.max_steps)
    async with open_store(settings) as store, store.hold(thread):
        graph = build(kind, profile, store.saver)
        words = given.request or ""
        start: Any = {"request": given.request}
        if given.answer is not None:
            state = await graph.aget_state({"configurable": {"thread_id": thread, HELD: True}})
            words = str((state.metadata or {}).get("request", ""))
            waiting = outcome_of(state).questions
            start = Command(resume=match_answers([given.answer], waiting, thread))
        config = Job(thread, kind, profile, context, words, graph, start).config()
        options = {"stream_mode": ["custom"], "subgraphs": True, "durability": "sync"}
        try:
            async for _, _, event in graph.astream(start, config, context=context, **options):
                if line := line_of(event):
                    await tell(line)
            return outcome_of(await graph.aget_state(config))
        finally:
            await graph.close_waiting()


def _said(text: str, *, is_error: bool) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, isError=is_error)


def line_of(event: Any) -> str:
    """What an event says to someone who waits; empty where it says nothing new."""
    match event:
        case {"type": "step", "step": step, "max_steps": most}:
            line = f"Step {step}/{most}"
        case {"type": "thought", "text": text}:
            line = flat(text)
        case {"type": "call", "name": name, "args": args}:
            line = f"{name}: {main_argument(args)}"
        case {"type": "observation", "name": name, "text": text, "is_error": failed}:
            line = f"{name} {'failed' if failed else 'done'}: {gist(text)}"
        case {"type": "plan", "plan": plan}:
            line = f"Plan: {plan['title']}, {len(plan['steps'])} steps"
        case {"type": "plan_step", "step": step, "status": status}:
            line = f"Plan step {step}: {status}"
        case {"type": "plan_action", "event": inner}:
            line = line_of(inner)
        case _:
            line = ""
    return line[:_SHOWN]
