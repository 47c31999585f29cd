"""Render the runs of a thread as text for a terminal, or as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from manus.pages.trace.model import Notice, Stage, TraceCall, TraceRun, TraceStep
from manus.prompts.formatting import clean, flat, main_argument
from manus.state.plan import format_plan

_MAX_LINES = 12
"""Lines of an observation, unless it is shown in full."""


def as_text(runs: Iterable[TraceRun], *, full: bool = False) -> str:
    """Return the runs as paragraphs labeled with the speaker; plans list their steps."""
    lines: list[str] = []
    for run in runs:
        lines += _run_lines(run, full)
    return "\n".join(lines)


def _run_lines(run: TraceRun, full: bool) -> Iterator[str]:
    yield from _paragraph("user", run.request)
    yield from _messages_of_user(run.notices)
    yield from steps_as_text(run.steps, full=full)
    if run.kind == "flow":
        if run.plan is not None:
            yield from ("", format_plan(cast(Any, run.plan)))
        for stage in _executed_steps(run):
            yield from ("", f"Step {stage.index}: {stage.title}")
            if stage.run is not None:
                yield from steps_as_text(stage.run.steps, full=full)
        if run.output and run.stop_reason != "error":
            yield from _paragraph("agent", run.output)
    elif run.stop_reason == "terminated" and run.output != run.steps[-1].thought.strip():
        yield from _paragraph("agent", run.output)


def _executed_steps(run: TraceRun) -> list[Stage]:
    """Return the executions of plan steps, ordered by step index."""
    stages = [stage for stage in run.stages if stage.kind == "step" and stage.started_at]
    return sorted(stages, key=lambda stage: stage.index or 0)


def steps_as_text(steps: Iterable[TraceStep], *, full: bool = False) -> Iterator[str]:
    """Yield each thought, call and observation as lines; cut long observations unless `full`."""
    for step in steps:
        if step.thought:
            yield from _paragraph("agent", step.thought)
        for call in step.calls:
            yield f"  call  {call.name}: {main_argument(call.args)}"
            if call.run is not None:
                inner = steps_as_text(call.run.steps, full=full)
                yield from (f"    {line}".rstrip() for line in inner)
            if call.observation is not None:
                yield from _indented("  error" if call.is_error else "  result", _cut(call, full))
        arguments = [main_argument(call.args) for call in step.calls]
        yield from _messages_of_user(step.notices)
        for notice in step.notices:
            if notice.kind == "question" and flat(notice.text) not in arguments:
                yield from _indented("  asked", clean(notice.text).strip())


def _messages_of_user(notices: Iterable[Notice]) -> Iterator[str]:
    """Yield the messages that the user sent during a run, where the model read them."""
    for notice in notices:
        if notice.kind == "message":
            yield from _paragraph("user", notice.text)


def _paragraph(word: str, text: str) -> Iterator[str]:
    yield from ("", *_indented(word, clean(text).strip()))


def _indented(word: str, text: str) -> Iterator[str]:
    lines = text.splitlines() or ["(nothing)"]
    yield f"{word}: {lines[0]}"
    margin = " " * (len(word) - len(word.lstrip()) + 2)
    for line in lines[1:]:
        yield f"{margin}{line}".rstrip()


def _cut(call: TraceCall, full: bool) -> str:
    text = clean(call.observation or "").strip()
    lines = text.splitlines()
    hidden = len(lines) - _MAX_LINES + 1
    if full or hidden <= 1:
        return text
    return "\n".join([*lines[: _MAX_LINES - 1], f"(… {hidden} more lines; --full shows them)"])


def as_messages(runs: Iterable[TraceRun]) -> list[dict[str, Any]]:
    """Return the runs as messages with role, text, and calls or the id of the answered call."""
    messages: list[dict[str, Any]] = []
    for run in runs:
        messages += _messages(run)
    return messages


def steps_as_messages(run: TraceRun) -> dict[int, list[dict[str, Any]]]:
    """Return the messages of each plan step by its index; those of its last execution."""
    messages = {}
    for stage in _executed_steps(run):
        if stage.run is not None:
            messages[stage.index or 0] = as_messages([stage.run])
    return messages


def _messages(run: TraceRun) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "text": run.request}
    yield from _sent_messages(run.notices)
    for step in run.steps:
        calls = [{"id": c.id, "name": c.name, "args": c.args} for c in step.calls]
        yield {"role": "assistant", "text": step.thought, "calls": calls}
        for call in step.calls:
            if call.observation is not None:
                status = "error" if call.is_error else "success"
                answer = {"call_id": call.id, "name": call.name, "status": status}
                inner = {} if call.run is None else {"messages": as_messages([call.run])}
                yield {"role": "tool", "text": call.observation, **answer, **inner}
        yield from _sent_messages(step.notices)
    if run.kind == "flow" and run.output:
        yield {"role": "assistant", "text": run.output, "calls": []}


def _sent_messages(notices: Iterable[Notice]) -> Iterator[dict[str, Any]]:
    """Yield the messages that the user sent during a run."""
    for notice in notices:
        if notice.kind == "message":
            yield {"role": "user", "text": notice.text, "during_run": True}
