"""The runs of a thread as text for a terminal, and as data for other programs.

Graders read ATIF, the Agent Trajectory Interchange Format of Harbor, version 1.7
(github.com/laude-institute/harbor, docs/rfcs/0001-trajectory-format.md); training reads OpenAI's
messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from manus.pages.trace.model import Notice, Stage, TraceCall, TraceRun, TraceStep
from manus.prompts.formatting import clean, flat, main_argument
from manus.state.plan import format_plan
from manus.state.usage import RoleUsage, sum_usage
from manus.tools.python_execute import PYTHON
from manus.version import VERSION

_MAX_LINES = 12
"""Lines of an observation, unless it is shown in full."""

Json = dict[str, Any]


def as_text(runs: Iterable[TraceRun], *, full: bool = False) -> str:
    """Return the runs as paragraphs labeled with the speaker; plans list their steps."""
    lines: list[str] = []
    for run in runs:
        lines += _run_lines(run, full)
    return "\n".join(lines)


def _run_lines(run: TraceRun, full: bool) -> Iterator[str]:
    yield from _paragraph("user", run.request)
    for text in _sent(run.notices):
        yield from _paragraph("user", text)
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
        for text in _sent(step.notices):
            yield from _paragraph("user", text)
        for notice in step.notices:
            if notice.kind == "question" and flat(notice.text) not in arguments:
                yield from _indented("  asked", clean(notice.text).strip())


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


def _walk(run: TraceRun, steps: Iterable[TraceStep]) -> Iterator[str | TraceStep]:
    """Yield the steps of a run, and what the user sent in between."""
    yield from _sent(run.notices)
    for step in steps:
        yield step
        yield from _sent(step.notices)


def _sent(notices: Iterable[Notice]) -> list[str]:
    """Return the messages that the user sent during a run."""
    return [notice.text for notice in notices if notice.kind == "message"]


def _messages(run: TraceRun) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "text": run.request}
    for step in _walk(run, run.steps):
        if isinstance(step, str):
            yield {"role": "user", "text": step, "during_run": True}
            continue
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


def as_atif(thread_id: str, runs: Sequence[TraceRun]) -> Json:
    """Return all runs of a thread as one trajectory; delegated agents are embedded."""
    embedded: list[Json] = []
    steps = [step for run in runs for step in _atif_steps(run, thread_id, embedded)]
    trajectory = _trajectory(thread_id, runs, steps)
    if embedded:
        trajectory["subagent_trajectories"] = embedded
    return trajectory


def _trajectory(thread_id: str, runs: Sequence[TraceRun], steps: list[Json]) -> Json:
    agent: Json = {"name": runs[-1].profile or "manus", "version": VERSION}
    if models := [model for run in runs for model in run.models]:
        agent["model_name"] = models[-1]
    used = _metrics(sum_usage(*(run.tokens for run in runs)))
    totals: Json = {f"total_{name}": value for name, value in used.items()}
    totals["total_steps"] = len(steps)
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": thread_id,
        "trajectory_id": thread_id,
        "agent": agent,
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "final_metrics": totals,
    }


def _atif_steps(run: TraceRun, path: str, embedded: list[Json]) -> Iterator[Json]:
    """Yield the steps of a run; `path` starts the ids of the agents it delegates to."""
    if run.request:
        yield {"source": "user", "message": run.request}
    said = ""
    for step in _walk(run, run.agent_steps):
        if isinstance(step, str):
            yield {"source": "user", "message": step}
        else:
            yield _atif_step(step, path, embedded)
            said = step.thought or said
    if run.output and run.output.strip() != said.strip():
        yield {"source": "agent", "message": run.output, "llm_call_count": 0}


def _atif_step(step: TraceStep, path: str, embedded: list[Json]) -> Json:
    result: Json = {"source": "agent", "message": step.thought}
    if step.answered_at is not None:
        result["timestamp"] = step.answered_at.isoformat()
    if step.model:
        result["model_name"] = step.model
    if step.tokens is not None:
        result["metrics"] = _metrics(step.tokens)
    if step.calls:
        result["tool_calls"] = [
            {
                "tool_call_id": call.id,
                "function_name": call.name,
                "arguments": call.args if isinstance(call.args, dict) else {"text": call.args},
            }
            for call in step.calls
        ]
        results = [_atif_result(call, path, embedded) for call in step.calls]
        result["observation"] = {"results": results}
    return result


def _metrics(used: RoleUsage) -> Json:
    result: Json = {
        "prompt_tokens": used["input_tokens"],
        "completion_tokens": used["output_tokens"],
        "cached_tokens": used["cached_tokens"],
    }
    if "cost" in used:
        result["cost_usd"] = used["cost"]
    return result


def _atif_result(call: TraceCall, path: str, embedded: list[Json]) -> Json:
    result: Json = {"source_call_id": call.id, "content": call.observation}
    if call.run is not None:
        name = f"{path}/{call.id}"
        steps = [*_atif_steps(call.run, name, embedded)]
        embedded.append(_trajectory(name, [call.run], steps))
        result["subagent_trajectory_ref"] = [{"trajectory_id": name}]
    return result


def as_openai(runs: Sequence[TraceRun]) -> Iterator[Json]:
    """Yield the conversation of a thread's agent, and that of each other agent, as messages."""
    conversation: list[Json] = []
    others: list[TraceRun] = []
    for run in runs:
        if run.kind == "flow":
            others += run.agents
        else:
            conversation += _openai_messages(run)
        others += [call.run for step in run.agent_steps for call in step.calls if call.run]
    if conversation:
        yield {"messages": conversation}
    for other in others:
        yield {"messages": [*_openai_messages(other)]}


def _openai_messages(run: TraceRun) -> Iterator[Json]:
    if run.request:
        yield {"role": "user", "content": run.request}
    for step in _walk(run, run.steps):
        if isinstance(step, str):
            yield {"role": "user", "content": step}
            continue
        message: Json = {"role": "assistant", "content": step.thought}
        if step.calls:
            message["tool_calls"] = [*map(_openai_call, step.calls)]
        yield message
        for call in step.calls:
            yield {"role": "tool", "tool_call_id": call.id, "content": call.observation or ""}


def _openai_call(call: TraceCall) -> Json:
    arguments = json.dumps(call.args) if isinstance(call.args, Mapping) else str(call.args)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def as_notebook(runs: Sequence[TraceRun]) -> Json:
    """Return a notebook: requests, thoughts and answers as text, executed Python as cells."""
    cells: list[Json] = []
    for run in runs:
        cells.append(_text_cell(f"## {run.request}"))
        for step in run.agent_steps:
            cells.append(_text_cell(step.thought))
            cells += [_code_cell(call) for call in step.calls if call.name == PYTHON]
        cells.append(_text_cell(run.output))
    kept = [
        {"id": f"cell-{number}", "metadata": {}, **cell}
        for number, cell in enumerate(cells, 1)
        if cell["source"].strip("# ")
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": kept}


def _text_cell(text: str) -> Json:
    return {"cell_type": "markdown", "source": text}


def _code_cell(call: TraceCall) -> Json:
    code = call.args.get("code") if isinstance(call.args, Mapping) else call.args
    output = {"output_type": "stream", "name": "stdout", "text": call.observation or ""}
    return {
        "cell_type": "code",
        "source": str(code or ""),
        "execution_count": None,
        "outputs": [output],
    }
