"""The trace of a run as data: request, steps, tool calls and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from manus.calls.result import Image
from manus.state.usage import RoleUsage, sum_usage

NoticeKind = Literal["loop", "compaction", "question", "answer", "resumed", "budget", "message"]
Interval = tuple[datetime, datetime]


@dataclass(slots=True)
class Notice:
    """An event other than a step: a question, a loop hint, an edit of the state."""

    kind: NoticeKind
    title: str
    text: str = ""
    at: datetime | None = None
    message_id: str = ""
    """Id of the user message that it is about."""
    answer: Any = None
    """The answer to a question; None if it is open."""

    @property
    def is_said(self) -> bool:
        """Return whether a person said it: a message, or the answer to a question."""
        return self.kind in ("message", "answer") or self.answer is not None


@dataclass(slots=True)
class TraceCall:
    """A tool call and its result."""

    id: str
    name: str
    args: Any
    """A dict, or the raw text if it is not valid JSON."""
    observation: str | None = None
    """None until the call ends."""
    is_error: bool = False
    images: list[Image] = field(default_factory=list)
    picture: dict[str, Any] = field(default_factory=dict)
    """The name of a picture of the step, and the point of its click in pixels."""
    run: TraceRun | None = None
    """The run of the agent that the call delegated to."""


@dataclass(slots=True)
class TraceStep:
    """One reply of the model and the tool calls it made."""

    number: int
    """From 1."""
    thought: str = ""
    calls: list[TraceCall] = field(default_factory=list)
    tokens: RoleUsage | None = None
    model: str = ""
    provider: str = ""
    """The provider as LangChain names it."""
    finish_reason: str = ""
    started_at: datetime | None = None
    answered_at: datetime | None = None
    """When the model's reply was complete."""
    ended_at: datetime | None = None
    notices: list[Notice] = field(default_factory=list)
    """Notices before the next step."""
    checkpoint: str = ""
    """Id of the checkpoint before the step, to fork the thread from."""

    @property
    def has_error(self) -> bool:
        """Return whether one of its calls failed."""
        return any(call.is_error for call in self.calls)


@dataclass(slots=True)
class TraceRun:
    """A run of an agent, or of a flow with an agent's run for each step of its plan."""

    kind: Literal["agent", "flow"] = "agent"
    request: str = ""
    number: int = 1
    started_at: datetime | None = None
    ended_at: datetime | None = None
    """Time of the last known event."""
    profile: str = ""
    workspace: str = ""
    max_steps: int | None = None
    images: list[Image] = field(default_factory=list)
    steps: list[TraceStep] = field(default_factory=list)
    omitted: int = 0
    """Number of its first steps that `omit_old_steps` removed."""
    window: int = 0
    """Newest steps of the thread to keep, so that none of this run is omitted."""
    stages: list[Stage] = field(default_factory=list)
    """What a flow did, in order; empty for an agent."""
    notices: list[Notice] = field(default_factory=list)
    """Notices before the first step."""
    tokens: RoleUsage = field(default_factory=sum_usage)
    """Total usage, including agents it delegated to."""
    idle: list[Interval] = field(default_factory=list)
    """Intervals in which nothing was running."""
    plan: dict[str, Any] | None = None
    """The plan of a flow, or of an agent with the `planning` tool."""
    status: str = ""
    stop_reason: str | None = None
    success: bool | None = None
    output: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    is_running: bool = False
    is_newest: bool = True
    is_waiting: bool = False
    """Whether it waits for an answer."""

    @property
    def agents(self) -> list[TraceRun]:
        """Return the agent runs: itself, or those of a flow's plan steps."""
        if self.kind == "agent":
            return [self]
        return [stage.run for stage in self.stages if stage.run is not None]

    @property
    def agent_steps(self) -> list[TraceStep]:
        """Return all steps of its agent runs."""
        return [step for agent in self.agents for step in agent.steps]

    @property
    def message_ids(self) -> set[str]:
        """Return the ids of the messages that the user has sent during the run."""
        notices = [*self.notices]
        for agent in self.agents:
            notices += agent.notices
        for step in self.agent_steps:
            notices += step.notices
        return {notice.message_id for notice in notices if notice.message_id}

    @property
    def step_count(self) -> int:
        """Its steps, counted as on the command line: those of an agent, or of a flow's plan."""
        if self.kind == "agent":
            return self.omitted + len(self.steps)
        plan = self.plan or {}
        return len(plan.get("steps", [])) + len(plan.get("dropped", []))

    @property
    def models(self) -> list[str]:
        """Names of the models that replied, as reported by their servers."""
        return list(dict.fromkeys(step.model for step in self.agent_steps if step.model))


@dataclass(slots=True)
class Stage:
    """A part of a flow: a planner turn, the execution of a step, or the summary."""

    kind: Literal["plan", "step", "summary"]
    title: str
    started_at: datetime | None = None
    """None for a step that never started."""
    ended_at: datetime | None = None
    index: int | None = None
    """The step's index in the plan when it was executed, from 0."""
    executor: str = ""
    status: str = ""
    notes: str = ""
    result: str = ""
    files: list[str] = field(default_factory=list)
    depends_on: list[int] = field(default_factory=list)
    run: TraceRun | None = None
    plan: dict[str, Any] | None = None
    """The plan after the planner's turn."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive steps of a run, and what a person said right before them."""

    said: list[Notice]
    steps: list[TraceStep]


def split_at_messages(run: TraceRun) -> list[Stretch]:
    """Return the steps of a run, split wherever a person said something."""
    stretches = [Stretch([notice for notice in run.notices if notice.is_said], [])]
    for step in run.steps:
        stretches[-1].steps.append(step)
        if said := [notice for notice in step.notices if notice.is_said]:
            stretches.append(Stretch(said, []))
    return stretches


def omit_old_steps(runs: Sequence[TraceRun], window: int) -> None:
    """Keep the newest steps of a thread, and what a person said in the others."""
    newer = 0
    for run in reversed([agent for entire in runs for agent in entire.agents]):
        kept = max(min(len(run.steps), window - newer), 0)
        newer += len(run.steps)
        run.window = newer
        run.omitted = len(run.steps) - kept
        for step in run.steps[: run.omitted]:
            run.notices += [notice for notice in step.notices if notice.is_said]
        run.steps = run.steps[run.omitted :]
