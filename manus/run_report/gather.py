"""All that the page tells of a thread, from its trail and its workspace."""

from __future__ import annotations

from datetime import UTC, datetime

from manus.run_report.conversation import conversations
from manus.run_report.facts import RunFacts, ThreadFacts
from manus.run_report.files import Budget, files_of
from manus.run_report.flow_runs import flow_runs
from manus.run_report.trail import INTERRUPT, RESUME, Superstep, Trail


def gather(
    trail: Trail, *, place: str = "", is_running: bool = False, is_live: bool = False
) -> ThreadFacts:
    """The facts of a thread. Blocking: it looks at the files of the workspace.

    `place` is the store's, in words; `is_running` whether a process is at work on the thread.
    """
    runs = flow_runs(trail) if _is_flow(trail) else _agent_runs(trail)
    for run in runs:
        run.is_newest = run is runs[-1]
    if runs:
        runs[-1].is_ours = "graph" in trail.root[-1].metadata
        runs[-1].is_running = is_running and runs[-1].talk.stop_reason is None
        runs[-1].waits = runs[-1].talk.stop_reason is None and not is_running and _waits(trail)
    budget = Budget()
    for run in reversed(runs):  # where the room for images is short, the newest have it
        run.files, run.files_note = files_of(run, budget)
    return ThreadFacts(
        thread_id=trail.thread_id,
        place=place,
        status="",
        runs=runs,
        gathered=datetime.now(UTC),
        branches=trail.branches,
        is_live=is_live,
    )


def _agent_runs(trail: Trail) -> list[RunFacts]:
    talks = conversations(trail.root)
    return [RunFacts(number, "agent", talk) for number, talk in enumerate(talks, start=1)]


def _is_flow(trail: Trail) -> bool:
    return any(_is_flows(superstep) for superstep in trail.root)


def _is_flows(superstep: Superstep) -> bool:
    return superstep.metadata.get("graph") == "flow" or bool(superstep.written("plan"))


def _waits(trail: Trail) -> bool:
    """Whether a question of its newest superstep has no answer yet."""
    if not trail.root:
        return False
    writes = trail.root[-1].writes
    asked = {task for task, channel, _ in writes if channel == INTERRUPT}
    answered = {task for task, channel, _ in writes if channel == RESUME}
    return bool(asked - answered)
