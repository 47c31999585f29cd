"""The typed state of the agent graph: its input, channels and output, and typed results."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.types import Interrupt
from pydantic import Field
from typing_extensions import TypedDict

from manus.state.endings import RunStatus, StopReason
from manus.state.history import append_messages
from manus.state.plan import Plan, Todo
from manus.state.plan_changes import fold_plans
from manus.state.usage import Spending, Usage

SNAPSHOT_EVERY = 1000
"""Number of writes to a delta channel after which a checkpoint contains a full copy of its
value."""


def delta_channel(fold: Callable[[Any, Sequence[Any]], Any]) -> Any:
    """Return a channel of which a checkpoint stores only the new writes.

    Storage therefore grows linearly with the number of steps.
    """
    return DeltaChannel(fold, snapshot_frequency=SNAPSHOT_EVERY)


class Compaction(TypedDict):
    """Record of the messages that compaction has removed from the history of a thread so far."""

    count: int
    """Number of compactions."""
    evicted: int
    """Number of removed messages; notes and archive number them from 1 to this."""
    at: str
    """Id of the message that was the newest at the last compaction."""
    size: int
    """Tokens of a request with the remaining history."""
    archive: NotRequired[str]
    """Path of the archive with the removed messages; a thread forked from this one starts with a
    copy of it."""
    outside: NotRequired[bool]
    """Whether any of them contained untrusted text (taint)."""
    private: NotRequired[bool]
    """Whether any of them contained something private."""


LoopKind = Literal["text", "call", "cycle", "polling", "silence"]


class TrailEntry(TypedDict):
    """A call and its result, or a reply without calls, as compared by loop detection."""

    step: int
    call: str
    """A fingerprint; empty for a reply without calls."""
    result: str
    """A fingerprint of the result or of the reply's text; empty for an empty reply."""
    seconds: float
    """Duration of the call."""
    shown: str
    """A short text of the call."""
    error: NotRequired[bool]


class Loop(TypedDict):
    """The loop that the run is stuck in, and the current measure against it."""

    kind: LoopKind
    what: str
    """The repetition and its result, in one or two sentences for the model."""
    measure: Literal["hint", "refuse", "ask"]
    calls: list[str]
    """Fingerprints of its calls, which are refused while the measure is `refuse`."""
    refused: list[str]
    """Fingerprints of the refused calls so far, one per refusal."""
    since: int
    """The step at which the current measure was taken."""


class Run(TypedDict):
    """One user request that is being executed."""

    id: str
    request_id: str
    """Id of the message with the request. A newer message from the user starts another run."""
    guidance_id: NotRequired[str]
    """Id of the user's newest answer to a stuck run; it belongs to this run."""
    step: int
    """Number of started steps."""
    max_steps: int
    workspace: str
    profile: str
    sent_back: NotRequired[int]
    """The step whose reply without a call was sent back; once per run."""
    began: NotRequired[int]
    """For a served run, its start in nanoseconds since 1970: files changed after it are its own."""
    closing: NotRequired[str]
    """Description of the limit that allowed only one last model call."""


class Refusal(TypedDict):
    """A refused tool call of a run."""

    call: str
    """The tool and its main argument, on one line."""
    reason: str
    """Why the call needed approval."""
    by: Literal["person", "mode"]
    """`mode`: refused without a question, as in all unattended runs (`refuse`)."""
    rules: list[str]
    """Rules of the calls that are refused without a question from now on."""


def merge_refusals(refusals: list[Refusal], writes: list[Refusal]) -> list[Refusal]:
    """Return the refusals with the new ones added once; parallel tasks may write the same."""
    merged = list(refusals)
    for refusal in writes:
        if refusal not in merged:
            merged.append(refusal)
    return merged


class AgentInput(TypedDict, total=False):
    """Input of a run: a request as text, or messages with images or a history."""

    request: Annotated[str, Field(description="What to do, in words")]
    messages: Annotated[
        list[AnyMessage],
        Field(description="Instead of, or before, the request: messages with images or a history"),
    ]


class AgentStart(AgentInput, total=False):
    """Input of the graph: that of the run, and the first status."""

    status: RunStatus


class AgentOutput(TypedDict, total=False):
    """Output of a run."""

    status: RunStatus
    """The last status; `finished` and `error` stay until the next run on the thread."""
    stop_reason: StopReason | None
    """Why the run ended."""
    success: bool | None
    """Whether the agent reports success; None if it reports neither."""
    output: str
    """The answer, or the last text, or the step log."""
    results: list[str]
    """One line per step."""
    usage: Usage
    """The usage of the run."""
    messages: list[AnyMessage]
    """The thread's history."""
    refused: list[Refusal]
    """Tool calls that the user, or the mode `refuse`, has refused."""


def keep_newest(_: Any, new: Any) -> Any:
    """Return the newer value; the reducer of a channel that parallel tasks may write."""
    return new


def keep_last(_: str, writes: Sequence[str]) -> str:
    """Return the newest of the writes."""
    return writes[-1]


def extend_list(items: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    """Return the items followed by those of each write; the reducer of append-only channels."""
    return [*items, *itertools.chain.from_iterable(writes)]


MAX_ENTRIES = 100


def append_entries(trail: list[TrailEntry], writes: Sequence[Any]) -> list[TrailEntry]:
    """Return the newest entries of the trail followed by those of each write."""
    return extend_list(trail, writes)[-MAX_ENTRIES:]


MAX_FILES = 100


def append_files(paths: list[str], writes: Sequence[list[str]]) -> list[str]:
    """Fold writes into paths: each path once, the newest last, the oldest dropped."""
    newest_first = dict.fromkeys(reversed(extend_list(paths, writes)))
    return list(newest_first)[:MAX_FILES][::-1]


class AgentState(TypedDict, total=False):
    """The channels of the agent graph."""

    messages: Annotated[list[AnyMessage], delta_channel(append_messages)]
    run: Run
    place: Annotated[str, delta_channel(keep_last)]
    """The environment of the run, as the system prompt describes it throughout the run."""
    status: RunStatus
    stop_reason: StopReason | None
    success: bool | None
    """None until a run ends; then whether the agent reports success."""
    output: str
    results: Annotated[list[str], delta_channel(extend_list)]
    usage: Usage
    loop: Loop | None
    trail: Annotated[list[TrailEntry], delta_channel(append_entries)]
    """The run's newest calls with their results."""
    plans: Annotated[dict[str, Plan], delta_channel(fold_plans)]
    """Plans of the `planning` tool, by id."""
    active_plan: Annotated[str | None, keep_newest]
    changed_files: Annotated[list[str], delta_channel(append_files)]
    """Paths of files created or changed in the workspace, the newest last."""
    snapshot: Annotated[str, keep_newest]
    """Id of the snapshot of the workspace's files after the newest step that changed them."""
    todos: list[Todo]
    """The active plan in the form that chat UIs display; derived when the state is read."""
    files: dict[str, str]
    """Changed files for chat UIs: texts by path; derived like `todos`."""
    compaction: Compaction
    spent: Annotated[list[Spending], operator.add]
    """Model calls by tools of the newest step that the step has not counted yet."""
    approved: Annotated[list[str], operator.add]
    """Rules of calls that the user has approved for the rest of the run."""
    refused: Annotated[list[Refusal], merge_refusals]
    """Refused calls of the run."""


class ToolTask(TypedDict):
    """Input of one task of `act`: a call of the last assistant message."""

    index: int
    """Index among the calls of the message."""
    id: str
    name: str
    args: dict[str, Any]
    calls: NotRequired[list[str]]
    """Ids of all calls of the message, in order, if there are several."""
    refusal: NotRequired[str]
    """Why this call must not be executed; it becomes the observation."""
    injected: NotRequired[dict[str, Any]]
    """Arguments besides the model's: what the tool needs from the state."""
    compaction: NotRequired[Compaction]
    """For a call that searches the archive: what has been removed from the history."""
    approved: NotRequired[list[str]]
    """Rules of calls that need no approval; fixed, so that a repeated call asks the same."""
    outside: NotRequired[bool]
    """Whether untrusted text has been read before the call (taint)."""
    private: NotRequired[bool]
    """Whether something private has been read before the call."""
    named: NotRequired[list[str]]
    """The addresses that the user has typed."""
    refused: NotRequired[list[str]]
    """Rules of the calls refused in the run."""


class AgentResult(TypedDict):
    """Result of a run of the agent graph; its keys are those of `AgentOutput`."""

    status: RunStatus
    stop_reason: StopReason | None
    success: bool | None
    output: str
    usage: Usage
    messages: list[AnyMessage]
    results: NotRequired[list[str]]
    refused: NotRequired[list[Refusal]]
    __interrupt__: NotRequired[list[Interrupt]]


class FlowResult(AgentResult):
    """Result of a run of the flow graph; its keys are those of `FlowOutput`."""

    plan: NotRequired[Plan]
    todos: NotRequired[list[Todo]]
