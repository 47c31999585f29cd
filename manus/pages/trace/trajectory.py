"""The runs of a thread for other programs: graders (ATIF), training (OpenAI), notebooks.

ATIF is the Agent Trajectory Interchange Format of Harbor, version 1.7:
github.com/laude-institute/harbor, docs/rfcs/0001-trajectory-format.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from manus.pages.trace.model import Notice, TraceCall, TraceRun, TraceStep
from manus.state.usage import RoleUsage, sum_usage
from manus.tools.python_execute import PYTHON
from manus.version import VERSION

Json = dict[str, Any]


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
    for step in run.agent_steps:
        yield _atif_step(step, path, embedded)
        said = step.thought or said
        for text in _said_by_user(step.notices):
            yield {"source": "user", "message": text}
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
    for text in _said_by_user(run.notices):
        yield {"role": "user", "content": text}
    for step in run.steps:
        message: Json = {"role": "assistant", "content": step.thought}
        if step.calls:
            message["tool_calls"] = [*map(_openai_call, step.calls)]
        yield message
        for call in step.calls:
            yield {"role": "tool", "tool_call_id": call.id, "content": call.observation or ""}
        for text in _said_by_user(step.notices):
            yield {"role": "user", "content": text}


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


def _said_by_user(notices: Sequence[Notice]) -> Iterator[str]:
    for notice in notices:
        if notice.kind == "message":
            yield notice.text
