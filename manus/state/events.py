"""The custom events of a run, streamed while it works (`stream_mode="custom"`)."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from manus.state.endings import RunStatus, StopReason
from manus.state.plan import Plan, StepStatus
from manus.state.usage import RoleUsage


class StatusEvent(TypedDict):
    """A change of the run's status."""

    type: Literal["status"]
    status: RunStatus
    stop_reason: StopReason | None


class StepEvent(TypedDict):
    """The start of a step, before the model call."""

    type: Literal["step"]
    step: int
    max_steps: int
    spent: RoleUsage
    """Usage of the run before this step."""


class ThoughtEvent(TypedDict):
    """The model's reply. Tokens are those of this call; `seconds` is its duration."""

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
    """Usage of the run so far, including this call."""


class CallEvent(TypedDict):
    """The start of a tool call."""

    type: Literal["call"]
    id: str
    name: str
    args: dict[str, Any]


class OutputEvent(TypedDict):
    """Output of a program that a call has started; `text` is the end of its output so far."""

    type: Literal["output"]
    id: str
    text: str


class ObservationEvent(TypedDict):
    """The end of a tool call; `text` is the observation that the model sees."""

    type: Literal["observation"]
    id: str
    name: str
    text: str
    is_error: bool
    seconds: float


class RetryEvent(TypedDict):
    """A transient failure of a model call or of the database.

    The operation is retried after `wait` seconds.
    """

    type: Literal["retry"]
    attempt: int
    wait: float
    left: NotRequired[float]
    """Remaining seconds of retries."""
    reason: str


class LoopEvent(TypedDict):
    """The run is stuck in a loop; `measure` is the reaction."""

    type: Literal["loop"]
    measure: Literal["hint", "refuse", "ask"]
    what: str


class CompactionEvent(TypedDict):
    """Older messages were replaced by notes.

    The request would have had about `before` tokens, and now has about `size`.
    """

    type: Literal["compaction"]
    evicted: int
    before: int
    size: int
    window: int


PlanChange = Literal["made", "default", "revised", "kept", "edited"]


class PlanEvent(TypedDict):
    """A new or changed plan of a flow; `why` is its origin."""

    type: Literal["plan"]
    why: PlanChange
    plan: Plan
    spent: RoleUsage
    """Usage of the run so far."""


class PlanStepEvent(TypedDict):
    """A step of the plan has started, has asked the user, or has ended."""

    type: Literal["plan_step"]
    step: int
    status: StepStatus
    notes: str
    executor: str
    spent: RoleUsage
    """Usage of this step so far."""
    question: NotRequired[str]
    """Its question to the user. It waits for the answer while other steps continue."""


class MessageEvent(TypedDict):
    """A message that the user sent during the run, read at this point."""

    type: Literal["message"]
    id: str
    text: str


class FilesEvent(TypedDict):
    """The files that a run from an earlier checkpoint has restored (`restore_files`)."""

    type: Literal["files"]
    text: str
    """What was restored, what was not, and why, in sentences; empty if nothing differed."""
    restored: list[str]
    kept: list[str]
    """Files that someone else has changed since."""
    in_doubt: list[str]
    """Files that an interrupted call or someone else has changed; they are kept."""
    failed: dict[str, str]
    """Files that could not be restored, with the reason."""
    outside_effects: list[str]
    """Later calls with effects outside the workspace, which remain; only this project's
    stores list them."""
    is_recorded: bool
    """Whether the machine of the run has a record of the files."""


class PlanActionEvent(TypedDict):
    """An event of the executor of a plan's step, in `event`."""

    type: Literal["plan_action"]
    step: int
    event: dict[str, Any]


class DelegateActionEvent(TypedDict):
    """An event of a delegated agent, in `event`; `id` is that of the delegating call."""

    type: Literal["delegate_action"]
    id: str
    profile: str
    event: dict[str, Any]
