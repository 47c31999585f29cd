"""What the page tells of: plain data, gathered from checkpoints and files."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

NoticeKind = Literal["loop", "compaction", "question", "answer", "resumed", "edited", "budget"]
RowKind = Literal["plan", "step", "summary"]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image: base64 without a prefix, and its media type."""

    mime: str
    data: str
    name: str = ""


@dataclass(slots=True)
class Tokens:
    """Tokens as the server counted them, and what they cost where prices are known."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float | None = None
    written: int = 0
    """Of the input, to the provider's cache."""

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class Point:
    """Tokens used by one superstep, and when it ended."""

    at: datetime
    tokens: Tokens
    seconds: float = 0.0
    """Time that the run counted as its own."""


@dataclass(slots=True)
class Notice:
    """Something out of the ordinary course."""

    kind: NoticeKind
    title: str
    text: str = ""
    at: datetime | None = None


@dataclass(slots=True)
class Edit:
    """A change of a file by the editor, as a unified diff."""

    path: str
    command: str
    diff: list[str]
    """Lines; without numbers in the hunk's head where the whole file is not known."""
    added: int = 0
    removed: int = 0


@dataclass(slots=True)
class Call:
    """A tool call and what came of it."""

    id: str
    name: str
    args: Any
    """A dict; or the text that is not JSON."""
    observation: str | None = None
    """None until it has ended."""
    is_error: bool = False
    pictures: list[Picture] = field(default_factory=list)
    edit: Edit | None = None


@dataclass(slots=True)
class AgentStep:
    """One think and the act that follows it."""

    number: int
    began: datetime
    thought_at: datetime
    """When the model had answered."""
    ended: datetime | None = None
    thought: str = ""
    calls: list[Call] = field(default_factory=list)
    tokens: Tokens | None = None
    model: str = ""
    before: list[Notice] = field(default_factory=list)
    after: list[Notice] = field(default_factory=list)

    @property
    def has_error(self) -> bool:
        """Whether a call of it failed."""
        return any(call.is_error for call in self.calls)


@dataclass(slots=True)
class Conversation:
    """A run of an agent: its steps and its end."""

    request: str
    began: datetime
    ended: datetime | None = None
    """The last thing known of it, where it has not come to an end."""
    pictures: list[Picture] = field(default_factory=list)
    profile: str = ""
    max_steps: int | None = None
    workspace: str = ""
    steps: list[AgentStep] = field(default_factory=list)
    loose: list[Notice] = field(default_factory=list)
    """Notices behind the last step."""
    points: list[Point] = field(default_factory=list)
    pauses: list[tuple[datetime, datetime]] = field(default_factory=list)
    status: str = ""
    stop_reason: str | None = None
    success: bool | None = None
    output: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] | None = None
    """The plan that an agent with the `planning` tool kept."""
    run_id: str = ""


@dataclass(slots=True)
class Row:
    """A bar of a flow's timeline: the planner, an execution of a step, or the summary."""

    kind: RowKind
    title: str
    began: datetime | None
    """None for a step that was never begun."""
    ended: datetime | None = None
    index: int | None = None
    """The step's place in the plan when it was carried out."""
    executor: str = ""
    status: str = ""
    notes: str = ""
    result: str = ""
    files: list[str] = field(default_factory=list)
    depends_on: list[int] = field(default_factory=list)
    talk: Conversation | None = None
    plan: dict[str, Any] | None = None
    """The plan as the planner left it."""


@dataclass(slots=True)
class RunFacts:
    """One run of the thread: of an agent, or of a flow with an agent's run for each step."""

    number: int
    kind: str
    talk: Conversation
    """The agent's; of a flow the request, the end and the totals."""
    rows: list[Row] = field(default_factory=list)
    files: list[FileFacts] = field(default_factory=list)
    files_note: str = ""
    is_newest: bool = True
    is_running: bool = False
    is_ours: bool = False
    """Whether the command line began it: then the thread is held by whoever works on it."""
    waits: bool = False

    @property
    def conversations(self) -> list[Conversation]:
        """The conversations of its agents."""
        if self.kind != "flow":
            return [self.talk]
        return [row.talk for row in self.rows if row.talk is not None]

    @property
    def models(self) -> list[str]:
        """The models that answered, by their servers' names for them."""
        steps = (step for talk in self.conversations for step in talk.steps)
        return list(dict.fromkeys(step.model for step in steps if step.model))

    @property
    def steps(self) -> int:
        """Steps of its agents."""
        return sum(len(talk.steps) for talk in self.conversations)


@dataclass(slots=True)
class FileFacts:
    """A file that a run made or changed."""

    path: str
    size: int | None
    """Bytes as it is now; None if it is not there."""
    edits: list[Edit] = field(default_factory=list)
    diff: list[str] = field(default_factory=list)
    """What all edits together changed, where the whole file is known."""
    picture: Picture | None = None
    note: str = ""


@dataclass(slots=True)
class ThreadFacts:
    """All that the page tells."""

    thread_id: str
    place: str
    status: str
    runs: list[RunFacts]
    gathered: datetime
    branches: int = 0
    is_live: bool = False
