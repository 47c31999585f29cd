"""The custom events of a run, streamed as each thing happens (`stream_mode="custom"`)."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from manus.state.agent import RunStatus, StopReason
from manus.state.plan import Plan, StepStatus
from manus.state.usage import RoleUsage


class StatusEvent(TypedDict):
    """The run's status has changed."""

    type: Literal["status"]
    status: RunStatus
    stop_reason: StopReason | None


class StepEvent(TypedDict):
    """A step begins: the model is about to be asked."""

    type: Literal["step"]
    step: int
    max_steps: int
    spent: RoleUsage
    """What the run has used before this step."""


class ThoughtEvent(TypedDict):
    """The model has answered. Tokens are this call's; `seconds` its duration."""

    type: Literal["thought"]
    step: int
    text: str
    calls: list[dict[str, Any]]
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: NotRequired[int]
    seconds: float
    spent: RoleUsage
    """What the run has used so far, this call included."""


class CallEvent(TypedDict):
    """A tool call begins."""

    type: Literal["call"]
    id: str
    name: str
    args: dict[str, Any]


class OutputEvent(TypedDict):
    """A program that a call has started prints; `text` is the end of what it has so far."""

    type: Literal["output"]
    id: str
    text: str


class ObservationEvent(TypedDict):
    """A tool call has ended; `text` is what the model will see of it."""

    type: Literal["observation"]
    id: str
    name: str
    text: str
    is_error: bool
    seconds: float


class RetryEvent(TypedDict):
    """A model call, or a use of the database, failed in a way that may pass.

    It is tried again after `wait` seconds.
    """

    type: Literal["retry"]
    attempt: int
    wait: float
    left: NotRequired[float]
    """Seconds for which it is still tried."""
    reason: str


class LoopEvent(TypedDict):
    """The run is stuck in a loop; a measure is taken."""

    type: Literal["loop"]
    measure: Literal["hint", "refuse", "ask"]
    what: str


class CompactionEvent(TypedDict):
    """Older messages have been replaced by notes.

    The request would have had about `before` tokens, and now has about `size`.
    """

    type: Literal["compaction"]
    evicted: int
    before: int
    size: int
    window: int


PlanChange = Literal["made", "default", "revised", "kept", "edited"]


class PlanEvent(TypedDict):
    """A flow has a plan, or another one than before; `why` says where it comes from."""

    type: Literal["plan"]
    why: PlanChange
    plan: Plan
    spent: RoleUsage
    """What the run has used so far."""


class PlanStepEvent(TypedDict):
    """A step of the plan begins, asks a person, or has ended."""

    type: Literal["plan_step"]
    step: int
    status: StepStatus
    notes: str
    executor: str
    spent: RoleUsage
    """What was used for this step so far."""
    question: NotRequired[str]
    """What it asks a person. It waits for the answer while other steps go on."""


class PlanActionEvent(TypedDict):
    """What the executor of a step of the plan does; `event` is its own event."""

    type: Literal["plan_action"]
    step: int
    event: dict[str, Any]


class DelegateActionEvent(TypedDict):
    """What an agent does that was given a task; `id` is the call's, `event` its own event."""

    type: Literal["delegate_action"]
    id: str
    profile: str
    event: dict[str, Any]
