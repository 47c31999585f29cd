"""How a run ends: the one table of stop reasons, from which everything else about them derives."""

from __future__ import annotations

from typing import Literal, NamedTuple, cast, get_args

RunStatus = Literal["idle", "running", "thinking", "executing", "finished", "error"]
StopReason = Literal[
    "terminated",
    "answered",
    "completed",
    "max_steps",
    "budget",
    "stuck",
    "error",
    "plan_incomplete",
    "interrupted",
]


class Ending(NamedTuple):
    """What a stop reason means."""

    status: RunStatus
    """The status of the run; it is a success only if this is `finished`."""
    label: str
    """The status of the thread in a table."""
    headline: str
    why: str
    tone: str
    """`good`, `bad` or `warn`."""
    nodes: tuple[str, ...] = ("stuck_check",)
    """The nodes of an agent after which the graph ends the run for this reason."""
    resumes: bool = True
    """Whether `resume` continues the run, beyond the limit that ended it."""
    takes_messages: bool = True
    """Whether a message that waits for the agent becomes the next request."""
    hooks_continue: bool = True
    """Whether a hook of a middleware may continue the run."""
    failure: str = "the executor did not finish"
    """Why a step of a plan failed whose agent ended like this."""
    note: str = ""
    """Sentence at the end of the output, with the limit in braces."""


_DONE = Ending("finished", "finished", "Finished", "", "good", resumes=False)
_STOPPED = Ending("idle", "", "", "", "warn")

ENDINGS: dict[StopReason, Ending] = {
    "terminated": _DONE._replace(why="the agent ended the run", failure="the executor gave up"),
    "answered": _DONE._replace(why="the agent answered"),
    "completed": _DONE._replace(why="every step of the plan is done", nodes=()),
    "max_steps": _STOPPED._replace(
        label="step limit",
        headline="Out of steps",
        why="the maximum number of steps was reached",
        hooks_continue=False,
        failure="the executor ran out of steps",
        note="Terminated: Reached max steps ({max_steps})",
    ),
    "budget": _STOPPED._replace(
        label="budget",
        headline="Out of budget",
        why="a limit was reached",
        nodes=("think", "stuck_check"),
        hooks_continue=False,
        failure="the run's budget is used up",
        note="Terminated: Budget used up: {over}",
    ),
    "stuck": _STOPPED._replace(
        label="stuck",
        headline="Stuck in a loop",
        why="the agent repeated itself without progress",
        failure="the executor was stuck in a loop",
        note="Terminated: The run was stuck in a loop and did not leave it",
    ),
    "error": Ending(
        "error",
        "error",
        "Failed",
        "the run could not continue",
        "bad",
        nodes=("think", "stuck_check"),
        takes_messages=False,
        hooks_continue=False,
        failure="the model call failed",
    ),
    "plan_incomplete": _STOPPED._replace(
        label="incomplete",
        headline="Not everything in the plan was done",
        why="a step is blocked",
        nodes=(),
    ),
    # of a run that waits; a node that asks writes no state
    "interrupted": _STOPPED._replace(
        label="waiting",
        headline="Waiting for an answer",
        why="the agent asked a question",
        nodes=(),
        takes_messages=False,
    ),
}
assert get_args(StopReason) == tuple(ENDINGS), "each stop reason has its row, in this order"

UNFINISHED = _STOPPED._replace(label="unfinished", headline="Not finished")
"""A run that was stopped, or that another process works on."""
WAITING = ENDINGS["interrupted"]
NO_SUCCESS = "no success"
OVER = (_DONE.label, NO_SUCCESS)
"""Statuses of threads that have nothing left to do and no open question."""
QUEUED = "queued"
RUNNING = "running"
FAILED = "failed"
DAMAGED = "damaged"
"""Statuses of threads that are not the label of an ending."""


def get_ending(stop_reason: str | None, *, success: bool | None) -> Ending:
    """Return what a stop reason means; None means that the run has not ended."""
    if stop_reason is None:
        return UNFINISHED
    ending = ENDINGS.get(cast(StopReason, stop_reason))
    if ending is None:  # written by a later release
        return _STOPPED._replace(label=stop_reason, headline=stop_reason)
    if ending.tone == "good" and not success:
        return ending._replace(label=NO_SUCCESS, headline="Finished without success", tone="bad")
    return ending


def list_reasons(node: str) -> tuple[StopReason, ...]:
    """Return the reasons for which an agent's run ends after a node."""
    return tuple(reason for reason, ending in ENDINGS.items() if node in ending.nodes)
