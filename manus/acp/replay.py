"""Repeat a stored thread as session updates, for an editor that opens it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acp import helpers

from manus.acp.updates import describe_call, describe_plan, describe_result
from manus.pages.trace.model import TraceRun, TraceStep
from manus.prompts.formatting import flat


def replay(runs: list[TraceRun], root: Path) -> Iterator[Any]:
    """Yield the updates of a thread's runs, the oldest first."""
    for run in runs:
        if run.request:
            yield helpers.update_user_message_text(run.request)
        if run.kind == "flow" and run.plan:
            yield describe_plan(run.plan)  # type: ignore[arg-type]  # read as plain data
        said = ""
        for step in run.agent_steps:
            yield from _replay_step(step, root)
            said = step.thought or said
        if run.output and flat(run.output) not in flat(said):
            yield helpers.update_agent_message_text(run.output)


def _replay_step(step: TraceStep, root: Path) -> Iterator[Any]:
    if step.thought:
        yield helpers.update_agent_message_text(step.thought)
    for call in step.calls:
        if call.name == "terminate":
            continue
        start = describe_call(call.id, call.name, call.args, root)
        yield start
        if call.observation is not None:
            keeps = bool(start.content) and not call.is_error
            yield describe_result(
                call.id, call.observation, is_error=call.is_error, keeps_content=keeps
            )
