"""A run as data: what was asked, each step and call, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from manus.execution.result import Image
from manus.state.usage import RoleUsage, sum_usage

NoticeKind = Literal["loop", "compaction", "question", "answer", "resumed", "budget"]
Interval = tuple[datetime, datetime]


@dataclass(slots=True)
class Notice:
    """Something besides thinking and acting: a question, a hint, an edit of the state."""

    kind: NoticeKind
    title: str
    text: str = ""
    at: datetime | None = None


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
    images: list[Image] = field(default_factory=list)
    run: Run | None = None
    """Of the agent that was given a task by it."""


@dataclass(slots=True)
class Step:
    """One think and the act that follows it."""

    number: int
    """From 1."""
    thought: str = ""
    calls: list[Call] = field(default_factory=list)
    tokens: RoleUsage | None = None
    model: str = ""
    began: datetime | None = None
    thought_at: datetime | None = None
    """When the model had answered."""
    ended: datetime | None = None
    notices: list[Notice] = field(default_factory=list)
    """What was told before the next step."""
    checkpoint: str = ""
    """The one before it, from which the thread can be forked."""

    @property
    def has_error(self) -> bool:
        """Whether a call of it failed."""
        return any(call.is_error for call in self.calls)


@dataclass(slots=True)
class Run:
    """A run of an agent, or of a flow with an agent's run for each step of its plan."""

    kind: Literal["agent", "flow"] = "agent"
    request: str = ""
    number: int = 1
    began: datetime | None = None
    ended: datetime | None = None
    """When the last thing that is known of it happened."""
    profile: str = ""
    workspace: str = ""
    max_steps: int | None = None
    images: list[Image] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    """Of a flow: what it did, in order."""
    notices: list[Notice] = field(default_factory=list)
    """What was told before the first step."""
    tokens: RoleUsage = field(default_factory=sum_usage)
    """All that was used, those whom it gave work to included."""
    idle: list[Interval] = field(default_factory=list)
    """When nothing was at work."""
    plan: dict[str, Any] | None = None
    """A flow's; or the one that an agent with the `planning` tool kept."""
    status: str = ""
    stop_reason: str | None = None
    success: bool | None = None
    output: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    is_running: bool = False
    is_newest: bool = True
    is_waiting: bool = False
    """Whether it has a question that nobody has answered."""

    @property
    def agents(self) -> list[Run]:
        """The runs of its agents: its own, or those of its plan's steps."""
        if self.kind == "agent":
            return [self]
        return [stage.run for stage in self.stages if stage.run is not None]

    @property
    def agent_steps(self) -> list[Step]:
        """The steps of its agents."""
        return [step for agent in self.agents for step in agent.steps]

    @property
    def models(self) -> list[str]:
        """The models that answered, by their servers' names for them."""
        return list(dict.fromkeys(step.model for step in self.agent_steps if step.model))


@dataclass(slots=True)
class Stage:
    """What a flow did: the planner's turn, an execution of a step, the summary."""

    kind: Literal["plan", "step", "summary"]
    title: str
    began: datetime | None = None
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
    run: Run | None = None
    plan: dict[str, Any] | None = None
    """The plan as the planner left it."""
