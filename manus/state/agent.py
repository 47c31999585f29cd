"""The typed state of the agent graph: its input, its channels and its output."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel
from pydantic import Field

# pydantic, which describes these to Studio, wants this one before Python 3.12
from typing_extensions import TypedDict

from manus.state.messages import append_messages
from manus.state.plan import Plan
from manus.state.plan_changes import fold_plans
from manus.state.todos import Todo
from manus.state.usage import Spending, Usage

RunStatus = Literal["idle", "running", "thinking", "executing", "finished", "error"]
StopReason = Literal[
    "terminated",
    "answered",
    "max_steps",
    "budget",
    "stuck",
    "interrupted",
    "error",
    "plan_incomplete",
    "completed",
]

SNAPSHOT_EVERY = 1000
"""A full copy of what grows goes into every so many writes of it."""


def delta_channel(fold: Callable[[Any, Sequence[Any]], Any]) -> Any:
    """A channel of which a checkpoint holds only what is new.

    So storage grows with the steps and not with their square.
    """
    return DeltaChannel(fold, snapshot_frequency=SNAPSHOT_EVERY)


class Compaction(TypedDict):
    """What has been taken out of the history of a thread so far."""

    count: int
    """How often."""
    evicted: int
    """Messages taken out; they have the numbers from 1 to this one in notes and archive."""
    at: str
    """Id of the message that was the newest then."""
    size: int
    """Tokens of a request with the history as it was left then."""
    archive: NotRequired[str]
    """Path of the archive that they went into; a thread forked from this one begins with a
    copy of it."""
    outside: NotRequired[bool]
    """Whether any of them held text from outside."""


LoopKind = Literal["text", "call", "cycle", "polling", "silence"]


class TrailEntry(TypedDict):
    """One call and what came of it, as loops are found by; or a reply without calls."""

    step: int
    call: str
    """A fingerprint; empty for a reply without calls."""
    result: str
    """Of what came of it, or of the reply's text; empty for a reply that says nothing."""
    seconds: float
    """How long the call took."""
    shown: str
    """The call in a few words."""
    error: NotRequired[bool]


class Loop(TypedDict):
    """The loop that the run is stuck in: what is repeated and which measure has been taken."""

    kind: LoopKind
    what: str
    """What was repeated and what came of it: one or two sentences for the model."""
    measure: Literal["hint", "refuse", "ask"]
    calls: list[str]
    """Fingerprints of its calls; they are refused while the measure is `refuse`."""
    refused: list[str]
    """Those that have been refused so far, one for each time."""
    since: int
    """The step at which the present measure was taken."""


class Run(TypedDict):
    """One user request being worked on."""

    id: str
    request_id: str
    """Id of the message that asked for it. Another last message of the user begins another run."""
    guidance_id: NotRequired[str]
    """Id of the newest answer a person gave to a stuck run; it belongs to this run."""
    step: int
    """Steps begun, from 1."""
    max_steps: int
    workspace: str
    profile: str
    sent_back: NotRequired[int]
    """The step whose reply announced work without a call and was sent back; once a run."""
    began: NotRequired[int]
    """When it began, in nanoseconds since 1970, of a run that is served: files changed since then
    are its own."""
    closing: NotRequired[str]
    """The budget, in words, that had room for one last call only."""


class Refusal(TypedDict):
    """Something that was refused in a run."""

    call: str
    """The tool, and what it was to do, on one line."""
    reason: str
    """Why a person had to be asked."""
    by: Literal["person", "mode"]
    """`mode`: nobody was asked, since the run refuses whatever would be asked."""
    rules: list[str]
    """Rules that fit what is refused from now on without a question."""


def merge_refusals(refusals: list[Refusal], writes: list[Refusal]) -> list[Refusal]:
    """Return the refusals with those that are new; tasks side by side may write the same."""
    merged = list(refusals)
    for refusal in writes:
        if refusal not in merged:
            merged.append(refusal)
    return merged


class AgentInput(TypedDict, total=False):
    """What a run is given: a request in words, or messages when it has images or a history."""

    request: Annotated[str, Field(description="What to do, in words")]
    messages: Annotated[
        list[AnyMessage],
        Field(description="Instead of, or before, the request: messages with images or a history"),
    ]


class AgentStart(AgentInput, total=False):
    """What the graph begins with: the input, and the status that comes with it."""

    status: RunStatus


class AgentOutput(TypedDict, total=False):
    """What a run gives back."""

    status: RunStatus
    """The last one: `finished` and `error` stay until the next run on the thread."""
    stop_reason: StopReason | None
    """Why the run has ended."""
    success: bool | None
    """Whether it says of itself that it succeeded; None if it says nothing."""
    output: str
    """The answer, or the last text, or the step log."""
    results: list[str]
    """One line for each step."""
    usage: Usage
    """What it has used."""
    messages: list[AnyMessage]
    """The thread's history."""
    refused: list[Refusal]
    """What was refused: by a person, or since the run refuses whatever would be asked."""


def keep_newest(_: Any, new: Any) -> Any:
    """The last write counts; the reducer of a channel that several tasks may write at once."""
    return new


def keep_last(_: str, writes: Sequence[str]) -> str:
    """The newest of the writes."""
    return writes[-1]


def extend_list(lines: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    """The lines with those of each write behind them; a reducer of channels that only grow."""
    return [*lines, *itertools.chain.from_iterable(writes)]


MAX_ENTRIES = 100


def append_entries(trail: list[TrailEntry], writes: Sequence[Any]) -> list[TrailEntry]:
    """The trail with what was written behind it; only its end counts."""
    return extend_list(trail, writes)[-MAX_ENTRIES:]


MAX_FILES = 100


def append_files(paths: list[str], writes: Sequence[list[str]]) -> list[str]:
    """Fold writes into paths: each once, the newest last, the oldest dropped."""
    keep_newest = dict.fromkeys(reversed(extend_list(paths, writes)))
    return list(keep_newest)[:MAX_FILES][::-1]


class AgentState(TypedDict, total=False):
    """The channels of the agent graph."""

    messages: Annotated[list[AnyMessage], delta_channel(append_messages)]
    run: Run
    place: Annotated[str, delta_channel(keep_last)]
    """Where the run works, as its model is told from the beginning to the end."""
    status: RunStatus
    stop_reason: StopReason | None
    success: bool | None
    """None until a run ends; then whether it did what was asked, as far as the agent can say."""
    output: str
    results: Annotated[list[str], delta_channel(extend_list)]
    usage: Usage
    loop: Loop | None
    trail: Annotated[list[TrailEntry], delta_channel(append_entries)]
    """The run's newest calls, with what came of them."""
    plans: Annotated[dict[str, Plan], delta_channel(fold_plans)]
    """Plans by id; those of an agent that has the `planning` tool."""
    active_plan: Annotated[str | None, keep_newest]
    changed_files: Annotated[list[str], delta_channel(append_files)]
    """Paths of files in the workspace that were made or changed, the newest last."""
    todos: list[Todo]
    """The active plan as chat UIs show it; derived when the state is read, never stored."""
    files: dict[str, str]
    """Changed files as chat UIs show them: texts by path; derived like `todos`."""
    compaction: Compaction
    spent: Annotated[list[Spending], operator.add]
    """Model calls that the tools of the newest step have made, until it counts them."""
    approved: Annotated[list[str], operator.add]
    """Rules about calls that a person has approved for the rest of the run."""
    refused: Annotated[list[Refusal], merge_refusals]
    """What was refused in the run."""


class ToolTask(TypedDict):
    """What one task of `act` is sent: one call of the last assistant message."""

    index: int
    """Place among the calls of the message, from 0."""
    id: str
    name: str
    args: dict[str, Any]
    calls: NotRequired[list[str]]
    """Ids of all calls of the message, in order, where it has several."""
    refusal: NotRequired[str]
    """Why this call must not be executed; it becomes the observation."""
    injected: NotRequired[dict[str, Any]]
    """What the tool is given besides the model's arguments: what it needs to know of the state."""
    compaction: NotRequired[Compaction]
    """For a call that looks into the archive: what has been taken out of the history."""
    approved: NotRequired[list[str]]
    """Rules about calls that need no question; fixed, so that a call asks alike when made again."""
    outside: NotRequired[bool]
    """Whether untrusted text has been read before it."""
    named: NotRequired[list[str]]
    """The hosts that the user has named."""
    mentioned: NotRequired[list[str]]
    """What the user has written that may be a host, a file or an attribute."""
    refused: NotRequired[list[str]]
    """Rules about what was refused in the run."""
