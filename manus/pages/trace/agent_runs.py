"""The supersteps of an agent, folded into a run: steps, calls, what came of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Interrupt

from manus.execution.result import Image
from manus.graph.outcome import question_of
from manus.models.tokens import cache_tokens
from manus.pages.trace.model import Call, Interval, Notice, Run, Step
from manus.prompts.formatting import LOOP_MEASURES, count, span
from manus.state.messages import calls_of, text_of
from manus.state.plan_changes import fold_plans
from manus.state.usage import RoleUsage, sum_usage
from manus.store.history import INTERRUPT, Children, Superstep


class AgentRuns:
    """Reads the runs of an agent on one thread, one after the other."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._run = Run("agent")
        self._calls: dict[str, Call] = {}
        self._seen: set[str] = set()
        """Ids of messages: a compaction writes those that it keeps once more."""
        self._said: HumanMessage | None = None
        self._plans: dict[str, Any] = {}

    def read(self, supersteps: Sequence[Superstep], number: int = 1) -> Run:
        """The run that these supersteps are."""
        self._run = run = Run("agent", number=number)
        first = supersteps[0]
        asked = [m for m in first.messages if isinstance(m, HumanMessage)]
        if not asked and self._said is not None and not first.is_input:
            asked = [self._said]  # by an edit of the state
        begin_run(run, first, asked)
        for superstep in supersteps:
            self._take(superstep)
        run.tokens = sum_usage(cast(Any, run.usage))
        run.idle = idle_intervals(supersteps)
        for interval in run.idle:
            self._tell_of_idle(*interval)
        return run

    def _take(self, superstep: Superstep) -> None:
        run = self._run
        if run.stop_reason is not None and superstep.writes_to("stop_reason") == [None]:
            self._tell(Notice("resumed", "Gone on after its end", at=superstep.started_at))
        if (made := superstep.last_write("compaction")) is not None:
            self._tell(_compaction_notice(made, superstep))
        for inner in self._children.get(superstep.id, []):
            self._take_inner(AgentRuns(self._children).read(inner))
        for message in superstep.messages:
            self._take_message(superstep, message)
        self._take_channels(superstep)
        for asked in questions(superstep):
            self._tell(asked)
        if run.steps and not superstep.is_input:
            run.steps[-1].ended = superstep.ended_at
        end_run(run, superstep)

    def _take_message(self, superstep: Superstep, message: BaseMessage) -> None:
        if isinstance(message, ToolMessage):
            call = self._calls.get(str(message.tool_call_id))
            if call is not None and call.observation is None:
                observe(call, message)
        elif message.id not in self._seen:
            if isinstance(message, AIMessage):
                self._think(superstep, message)
            elif isinstance(message, HumanMessage):
                self._said = message
                if not superstep.is_input:
                    words = text_of(message)
                    self._tell(Notice("answer", "A person said", words, superstep.ended_at))
        self._seen.add(message.id or "")

    def _take_inner(self, run: Run) -> None:
        """A run that a call of the newest step has begun, known by the task that it was given."""
        for call in self._run.steps[-1].calls if self._run.steps else []:
            given = call.args.get("task") if isinstance(call.args, dict) else None
            if call.run is None and given == run.request:
                call.run = run
                return

    def _think(self, superstep: Superstep, message: AIMessage) -> None:
        step = step_of(message, len(self._run.steps) + 1)
        step.began = superstep.started_at
        step.thought_at = superstep.ended_at
        step.checkpoint = superstep.id
        self._calls.update((call.id, call) for call in step.calls)
        self._run.steps.append(step)

    def _take_channels(self, superstep: Superstep) -> None:
        run = self._run
        if (written := superstep.last_write("run")) is not None:
            run.max_steps = written.get("max_steps", run.max_steps)
            if written.get("closing") and run.steps:
                self._tell(Notice("budget", "The budget is nearly used up", written["closing"]))
        if (loop := superstep.last_write("loop")) is not None:
            title = f"In a loop: {LOOP_MEASURES.get(loop['measure'], loop['measure'])}"
            self._tell(Notice("loop", title, str(loop["what"]), superstep.ended_at))
        if plans := superstep.writes_to("plans"):
            self._plans = fold_plans(self._plans, plans)
            active = str(superstep.last_write("active_plan") or superstep.values.get("active_plan"))
            run.plan = dict(self._plans.get(active) or [*self._plans.values(), {}][-1]) or None

    def _tell(self, notice: Notice) -> None:
        (self._run.steps[-1].notices if self._run.steps else self._run.notices).append(notice)

    def _tell_of_idle(self, begin: datetime, end: datetime) -> None:
        seconds = (end - begin).total_seconds()
        words = f"Nothing was done for {span(seconds)}." if seconds >= 1 else ""
        notice = Notice("resumed", "Stopped here, and resumed", words, end)
        before = [s.notices for s in self._run.steps if s.began is not None and s.began <= begin]
        (before or [self._run.notices])[-1].append(notice)


def begin_run(run: Run, first: Superstep, asked: Sequence[BaseMessage]) -> None:
    """What is known of a run at its beginning."""
    known = first.metadata
    run.request = "\n\n".join(map(text_of, asked)) or str(known.get("request", ""))
    run.images = [image for message in asked for image in images_of(message)]
    run.began = first.started_at
    run.profile = str(known.get("profile") or "")
    run.workspace = str(known.get("workspace") or "")


def end_run(run: Run, superstep: Superstep) -> None:
    """What a superstep says of the run as a whole."""
    run.ended = superstep.ended_at
    written = superstep.last_write("run") or {}
    run.profile = written.get("profile") or run.profile
    run.workspace = written.get("workspace") or run.workspace
    run.usage = superstep.last_write("usage") or run.usage
    run.status = superstep.last_write("status") or run.status
    if superstep.writes_to("stop_reason"):
        run.stop_reason = superstep.last_write("stop_reason")
        run.success = superstep.last_write("success")
        run.output = str(superstep.last_write("output") or "")


def step_of(message: AIMessage, number: int) -> Step:
    """A step as the model's message begins it."""
    tokens = None
    if used := message.usage_metadata:
        given = used["input_tokens"]
        gave = used["output_tokens"]
        tokens = RoleUsage(input_tokens=given, output_tokens=gave, cached_tokens=0, model_calls=1)
        cache = cache_tokens(used.get("input_token_details"))
        tokens["cached_tokens"], tokens["cache_write_tokens"] = cache
    return Step(
        number,
        text_of(message).strip(),
        [Call(str(c["id"]), str(c["name"]), c["args"]) for c in calls_of(message)],
        tokens,
        str(message.response_metadata.get("model_name") or ""),
    )


def observe(call: Call, message: ToolMessage) -> None:
    """Note what came of a call."""
    call.observation = text_of(message)
    call.is_error = message.status == "error"
    call.images = images_of(message)


def images_of(message: BaseMessage) -> list[Image]:
    """The images in a message that are part of it; those at an address are not fetched."""
    pictures: Any = [block for block in message.content_blocks if block["type"] == "image"]
    return [Image(one["base64"], one["mime_type"]) for one in pictures if "base64" in one]


def questions(superstep: Superstep) -> list[Notice]:
    """The questions that the run stopped for."""
    asked = [one for write in superstep.writes_to(INTERRUPT) for one in write]
    texts = {one.id: question_of(one) for one in asked if isinstance(one, Interrupt)}
    title = "The run waited for a person"
    return [Notice("question", title, text, superstep.started_at) for text in texts.values()]


def _compaction_notice(made: dict[str, Any], superstep: Superstep) -> Notice:
    evicted = made["evicted"] - (superstep.values.get("compaction") or {"evicted": 0})["evicted"]
    title = f"The history was made shorter: {count(evicted, 'message')} replaced by notes"
    notes = [text_of(m) for m in superstep.messages if isinstance(m, SystemMessage)]
    return Notice("compaction", title, "\n\n".join(notes), superstep.ended_at)


def idle_intervals(
    supersteps: Sequence[Superstep],
    inner: Iterable[Interval] = (),
    work: Iterable[datetime] = (),
) -> list[Interval]:
    """When nothing was at work in a run, in order; intervals that overlap are made one.

    From a superstep in which it stood still to the moment at which it was gone on with. `inner` are
    those of the agents of a flow, and `work` the moments at which their steps ended: a step of a
    plan may wait while another beside it works.
    """
    found = list(inner)
    for before, after in itertools.pairwise(supersteps):
        then = before.metadata.get("started")
        now = after.metadata.get("started")
        if now and now != then and not after.is_input:
            started = min(datetime.fromisoformat(now), after.started_at)
            stood = after.metadata.get("stood")
            begin = datetime.fromisoformat(stood) if stood else before.started_at
            found.append((begin, max(begin, started)))
    moments = list(work)
    quiet: list[Interval] = []
    for begin, end in sorted(found):
        if any(begin < moment < end for moment in moments):
            continue
        if quiet and begin <= quiet[-1][1]:
            quiet[-1] = (quiet[-1][0], max(end, quiet[-1][1]))
        else:
            quiet.append((begin, end))
    return quiet
