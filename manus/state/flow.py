"""The typed state of the flow graph: its channels and its output."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage

# as in state/agent.py: for pydantic before Python 3.12
from typing_extensions import TypedDict

from manus.state.agent import AgentOutput, Compaction, Refusal, RunStatus, StopReason, delta_channel
from manus.state.messages import append_messages
from manus.state.plan import Plan, Waiting, steps_to_revise
from manus.state.plan_changes import fold_plan, fold_plans
from manus.state.todos import Todo, fold_todos
from manus.state.usage import RoleUsage, Usage, add_usage


class FlowRun(TypedDict):
    """One user request being planned and carried out."""

    id: str
    request_id: str
    """Id of the message that asked for it. Another last message of the user begins another run."""
    workspace: str
    executors: list[str]
    """Names of those who can carry out a step; the first one is the default."""
    replans_left: int
    """Revisions that may still follow blocked steps."""
    revised: list[str]
    """Texts of the blocked steps for which the plan has been revised."""
    approval: Literal["not_needed", "wanted", "given", "rejected"]
    reason: str
    """Why the person rejected the plan."""
    over: NotRequired[str]
    """The budget of the run that is used up, in words."""


QuestionMode = Literal["now", "once", "later"]
"""What becomes of a question that a step's executor asks a person.

`now`: the run waits for the answer. `later`: the step is set aside, since other steps may go on.
`once`: the run waits; when it is resumed without the answer, the step is set aside, since the
answers to other questions may let other steps go on.
"""


class StepTask(TypedDict):
    """What one task of `execute_step` is sent: one step, and all its executor is told."""

    step: int
    executor: str
    request: str
    """The user's request, the plan, results of the steps it depends on, and the step itself."""
    images: list[dict[str, Any]]
    """Pictures that came with the user's request, as content blocks."""
    began: int
    """When it began, in nanoseconds: files changed since may be its own."""
    alone: bool
    """Whether no other step is at work at the same time."""
    is_shared: bool
    """Whether another step has begun and not ended, at work or set aside."""
    title: str
    """The step's text."""
    asked: NotRequired[str]
    """The user's request alone."""
    approved: NotRequired[list[str]]
    """Rules about calls that a person has approved in an earlier step."""
    refused: NotRequired[list[Refusal]]
    """What was refused in an earlier step."""
    outside: NotRequired[bool]
    """Whether an earlier step has read text from outside."""
    spent: RoleUsage
    """What was used for the step before, if it is not the first time that it is worked on."""
    asks: QuestionMode
    waiting: NotRequired[Waiting | None]
    """What it waits for, if its executor has asked a person."""
    space: NotRequired[str]
    """Checkpoint namespace in which the executor continues; absent where it starts anew."""


class FlowOutput(AgentOutput, total=False):
    """What a run gives back; its messages are requests and summaries."""

    plan: Plan
    """The plan as it is at the end."""
    todos: list[Todo]
    """The same as chat UIs show it."""


class FlowState(TypedDict, total=False):
    """The channels of the flow graph.

    Plans and messages are stored as what is new in them, so that storage grows with the work and
    not with its square. The conversations of the steps are not here: each is in a checkpoint
    namespace of its own.
    """

    messages: Annotated[list[AnyMessage], delta_channel(append_messages)]
    """Requests and summaries."""
    compaction: Compaction
    plan: Annotated[Plan, delta_channel(fold_plan)]
    """The plan of the newest request; empty before there is one."""
    todos: Annotated[list[Todo], delta_channel(fold_todos)]
    """The same as chat UIs show it."""
    files: dict[str, str]
    """Changed files as chat UIs show them: texts by path, derived when the state is read."""
    plans: Annotated[dict[str, Plan], delta_channel(fold_plans)]
    """Plans of earlier requests on the thread, by id."""
    run: FlowRun
    status: RunStatus
    stop_reason: StopReason | None
    success: bool | None
    output: str
    results: list[str]
    refused: list[Refusal]
    """What was refused while its steps were worked on."""
    usage: Annotated[Usage, add_usage]


def total_usage(state: FlowState) -> Usage:
    """Return what the run has used, with the share of steps that are set aside."""
    usage = state["usage"]
    for step in state.get("plan", {}).get("steps", []):
        waiting = step.get("waiting")
        if waiting and not waiting["is_put"]:
            usage = add_usage(usage, {**waiting["usage"], "seconds": 0.0})
    return usage


def can_revise(state: FlowState) -> bool:
    """Whether steps were blocked for which the plan can still be revised."""
    run = state["run"]
    return run["replans_left"] > 0 and bool(steps_to_revise(state["plan"], run["revised"]))
