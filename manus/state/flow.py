"""The typed state of the flow graph: its channels and its output."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage

# as in state/agent.py: for pydantic before Python 3.12
from typing_extensions import TypedDict

from manus.state.agent import AgentOutput, Compaction, Refusal, delta_channel, keep_newest
from manus.state.endings import RunStatus, StopReason
from manus.state.history import append_messages
from manus.state.plan import Plan, Todo, Waiting, fold_todos, steps_to_revise
from manus.state.plan_changes import fold_plan, fold_plans
from manus.state.usage import RoleUsage, Usage, add_usage


class FlowRun(TypedDict):
    """One user request that is planned and executed."""

    id: str
    request_id: str
    """Id of the message with the request. A newer message from the user starts another run."""
    workspace: str
    executors: list[str]
    """Names of the profiles that can execute a step; the first is the default."""
    replans_left: int
    """Remaining revisions after blocked steps."""
    revised: list[str]
    """Texts of the blocked steps for which the plan has already been revised."""
    approval: Literal["not_needed", "wanted", "given", "rejected"]
    reason: str
    """Why the user rejected the plan."""
    message: NotRequired[str]
    """What the user has sent between two steps, until the plan is revised for it."""
    over: NotRequired[str]
    """The limit of the run's budget that is reached, in words."""


QuestionMode = Literal["now", "once", "later"]
"""How a question of a step's executor to the user is handled.

`now`: the run waits for the answer. `later`: the step is set aside, since other steps can continue.
`once`: the run waits; if it is resumed without the answer, the step is set aside, since the answers
to other questions may let other steps continue.
"""


class StepTask(TypedDict):
    """Input of one task of `execute_step`: a step, and all that its executor needs."""

    step: int
    executor: str
    request: str
    """The user's request, the plan, results of the steps it depends on, and the step itself."""
    images: list[dict[str, Any]]
    """Images of the user's request, as content blocks."""
    began: int
    """Start in nanoseconds since 1970: files changed after it may be the step's own."""
    alone: bool
    """Whether no other step is active at the same time."""
    is_shared: bool
    """Whether another step has started and not ended, active or set aside."""
    title: str
    """The step's text."""
    asked: NotRequired[str]
    """The user's request alone."""
    approved: NotRequired[list[str]]
    """Rules of calls that the user has approved in an earlier step."""
    refused: NotRequired[list[Refusal]]
    """Refused calls of earlier steps."""
    outside: NotRequired[bool]
    """Whether an earlier step has read untrusted text (taint)."""
    private: NotRequired[bool]
    """Whether one has read something private."""
    spent: RoleUsage
    """Usage of earlier executions of the step."""
    asks: QuestionMode
    waiting: NotRequired[Waiting | None]
    """The pending question of its executor to the user."""
    space: NotRequired[str]
    """Checkpoint namespace in which the executor resumes; absent if it starts afresh."""


class FlowOutput(AgentOutput, total=False):
    """Output of a flow run; its messages are requests and summaries."""

    plan: Plan
    """The plan at the end."""
    todos: list[Todo]
    """The plan in the form that chat UIs display."""


class FlowState(TypedDict, total=False):
    """The channels of the flow graph.

    Plans and messages are stored as deltas, so that storage grows linearly. The conversations of
    the steps are not here: each has its own checkpoint namespace.
    """

    messages: Annotated[list[AnyMessage], delta_channel(append_messages)]
    """Requests and summaries."""
    compaction: Compaction
    plan: Annotated[Plan, delta_channel(fold_plan)]
    """The plan of the newest request; empty before it is created."""
    todos: Annotated[list[Todo], delta_channel(fold_todos)]
    """The plan in the form that chat UIs display."""
    files: dict[str, str]
    """Changed files for chat UIs: texts by path, derived when the state is read."""
    plans: Annotated[dict[str, Plan], delta_channel(fold_plans)]
    """Plans of earlier requests on the thread, by id."""
    snapshot: Annotated[str, keep_newest]
    """Id of the snapshot of the workspace's files after the newest step that changed them."""
    run: FlowRun
    status: RunStatus
    stop_reason: StopReason | None
    success: bool | None
    output: str
    results: list[str]
    refused: list[Refusal]
    """Refused calls of its steps."""
    usage: Annotated[Usage, add_usage]


def total_usage(state: FlowState) -> Usage:
    """Return the usage of the run, including steps that are set aside."""
    usage = state["usage"]
    for step in state.get("plan", {}).get("steps", []):
        waiting = step.get("waiting")
        if waiting and not waiting["is_put"]:
            usage = add_usage(usage, {**waiting["usage"], "seconds": 0.0})
    return usage


def can_revise(state: FlowState) -> bool:
    """Return whether the plan can still be revised for a blocked step."""
    run = state["run"]
    return run["replans_left"] > 0 and bool(steps_to_revise(state["plan"], run["revised"]))
