"""A thread's runs for a person to read on a terminal, or as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from manus.pages.trace.model import Call, Run, Stage, Step
from manus.prompts.formatting import clean, flat, main_argument
from manus.state.plan import format_plan

_LINES = 12
"""Lines of an observation that are shown, unless all are wanted."""


def as_text(runs: Iterable[Run], *, full: bool = False) -> str:
    """The runs as paragraphs, a word before each that says who speaks; plans with their steps."""
    return "\n".join(line for run in runs for line in _run(run, full))


def _run(run: Run, full: bool) -> Iterator[str]:
    yield from _paragraph("user", run.request)
    yield from steps_as_text(run.steps, full=full)
    if run.kind == "flow":
        if run.plan is not None:
            yield from ("", format_plan(cast(Any, run.plan)))
        for stage in _worked_on(run):
            yield from ("", f"Step {stage.index}: {stage.title}")
            if stage.run is not None:
                yield from steps_as_text(stage.run.steps, full=full)
        if run.output and run.stop_reason != "error":
            yield from _paragraph("agent", run.output)
    elif run.stop_reason == "terminated" and run.output != run.steps[-1].thought.strip():
        yield from _paragraph("agent", run.output)


def _worked_on(run: Run) -> list[Stage]:
    """Executions of steps by their place in the plan, each time that one was carried out."""
    stages = [s for s in run.stages if s.kind == "step" and s.began is not None]
    return sorted(stages, key=lambda stage: stage.index or 0)


def steps_as_text(steps: Iterable[Step], *, full: bool = False) -> Iterator[str]:
    """Each thought, call and observation, line by line; long observations are cut."""
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
        known = [main_argument(call.args) for call in step.calls]
        for told in step.notices:
            if told.kind == "question" and flat(told.text) not in known:
                yield from _indented("  asked", clean(told.text).strip())


def _paragraph(word: str, text: str) -> Iterator[str]:
    yield from ("", *_indented(word, clean(text).strip()))


def _indented(word: str, text: str) -> Iterator[str]:
    lines = text.splitlines() or ["(nothing)"]
    yield f"{word}: {lines[0]}"
    margin = " " * (len(word) - len(word.lstrip()) + 2)
    for line in lines[1:]:
        yield f"{margin}{line}".rstrip()


def _cut(call: Call, full: bool) -> str:
    text = clean(call.observation or "").strip()
    lines = text.splitlines()
    left = len(lines) - _LINES + 1
    if full or left <= 1:
        return text
    return "\n".join([*lines[: _LINES - 1], f"(… {left} more lines; --full shows them)"])


def as_messages(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """The runs as plain data: role, text, and calls or the call that is answered."""
    return [message for run in runs for message in _messages(run)]


def steps_as_messages(run: Run) -> dict[int, list[dict[str, Any]]]:
    """The conversation of each step of a flow's plan, by its place; that of its last execution."""
    found = {s.index or 0: s.run for s in _worked_on(run) if s.run is not None}
    return {index: as_messages([inner]) for index, inner in found.items()}


def _messages(run: Run) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "text": run.request}
    for step in run.steps:
        calls = [{"id": c.id, "name": c.name, "args": c.args} for c in step.calls]
        yield {"role": "assistant", "text": step.thought, "calls": calls}
        for call in step.calls:
            if call.observation is not None:
                status = "error" if call.is_error else "success"
                answer = {"call_id": call.id, "name": call.name, "status": status}
                inner = {} if call.run is None else {"messages": as_messages([call.run])}
                yield {"role": "tool", "text": call.observation, **answer, **inner}
    if run.kind == "flow" and run.output:
        yield {"role": "assistant", "text": run.output, "calls": []}
