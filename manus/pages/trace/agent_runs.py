"""Fold the supersteps of an agent into a traced run: steps, calls, notices."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Interrupt

from manus.calls.result import Image
from manus.graph.outcome import get_subject
from manus.models.tokens import cache_tokens
from manus.pages.trace.model import Interval, Notice, TraceCall, TraceRun, TraceStep
from manus.prompts.formatting import LOOP_MEASURES, count, span
from manus.state.history import is_closing
from manus.state.messages import STEER, call_facts, get_text, list_calls
from manus.state.plan_changes import fold_plans
from manus.state.usage import NOTHING_USED, RoleUsage, sum_tokens, sum_usage
from manus.threads.history import INTERRUPT, RESUME, Children, Superstep
from manus.threads.spending import TAKEN_BACK


class AgentRuns:
    """Reads the runs of an agent on one thread, one after another."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._run = TraceRun("agent")
        self._calls: dict[str, TraceCall] = {}
        self._message_ids: set[str] = set()
        """Ids of messages already read; compaction writes the ones it keeps again."""
        self._last_request: HumanMessage | None = None
        self._plans: dict[str, Any] = {}

    def read(self, supersteps: Sequence[Superstep], number: int = 1) -> TraceRun:
        """Return the run that consists of these supersteps."""
        self._run = run = TraceRun("agent", number=number)
        first = supersteps[0]
        requests = [m for m in first.messages if isinstance(m, HumanMessage)]
        if not requests and self._last_request is not None and not first.is_input:
            requests = [self._last_request]  # started by an edit of the state
        start_run(run, first, requests)
        for superstep in supersteps:
            self._take(superstep)
        run.tokens = sum_usage(cast(Any, run.usage), *map(later_spending, supersteps))
        run.idle = idle_intervals(supersteps)
        for interval in run.idle:
            self._add_pause(*interval)
        return run

    def _take(self, superstep: Superstep) -> None:
        run = self._run
        if run.stop_reason is not None and superstep.writes_to("stop_reason") == [None]:
            self._add_notice(
                Notice("resumed", "Resumed after the run had ended", at=superstep.started_at)
            )
        if (compaction := superstep.last_write("compaction")) is not None:
            self._add_notice(_compaction_notice(compaction, superstep))
        for inner in self._children.get(superstep.id, []):
            self._attach_inner_run(AgentRuns(self._children).read(inner))
        for message in superstep.messages:
            self._take_message(superstep, message)
        self._take_channels(superstep)
        if (notice := rewind_notice(superstep)) is not None:
            self._add_notice(notice)
        for question in questions(superstep):
            self._add_notice(question)
        if run.steps and not superstep.is_input:
            run.steps[-1].ended_at = superstep.ended_at
        end_run(run, superstep)

    def _take_message(self, superstep: Superstep, message: BaseMessage) -> None:
        if isinstance(message, ToolMessage):
            call = self._calls.get(str(message.tool_call_id))
            if call is not None and call.observation is None:
                observe(call, message)
        elif message.id not in self._message_ids:
            if isinstance(message, AIMessage) and not is_closing(message):
                self._think(superstep, message)
            elif isinstance(message, HumanMessage) and STEER in message.additional_kwargs:
                self._add_notice(message_notice(superstep, message))
            elif isinstance(message, HumanMessage):
                self._last_request = message
                if not superstep.is_input:
                    words = get_text(message)
                    self._add_notice(
                        Notice("answer", "Answer from a person", words, superstep.ended_at)
                    )
        self._message_ids.add(message.id or "")

    def _attach_inner_run(self, run: TraceRun) -> None:
        """Attach the run of a delegated task to the call that started it."""
        if not self._run.steps:
            return
        for call in self._run.steps[-1].calls:
            task = call.args.get("task") if isinstance(call.args, dict) else None
            if call.run is None and task == run.request:
                call.run = run
                return

    def _think(self, superstep: Superstep, message: AIMessage) -> None:
        run_state = superstep.last_write("run") or {}
        next_number = self._run.steps[-1].number + 1 if self._run.steps else 1
        # a step whose model request failed has a number too, but no message
        step = build_step(message, max(next_number, run_state.get("step", 1)))
        step.started_at = superstep.started_at
        step.answered_at = superstep.ended_at
        step.checkpoint = superstep.id
        self._calls.update((call.id, call) for call in step.calls)
        self._run.steps.append(step)

    def _take_channels(self, superstep: Superstep) -> None:
        run = self._run
        if (run_state := superstep.last_write("run")) is not None:
            run.max_steps = run_state.get("max_steps", run.max_steps)
            if run_state.get("closing") and run.steps:
                self._add_notice(
                    Notice("budget", "The budget is nearly used up", run_state["closing"])
                )
        if (loop := superstep.last_write("loop")) is not None:
            title = f"In a loop: {LOOP_MEASURES.get(loop['measure'], loop['measure'])}"
            self._add_notice(Notice("loop", title, str(loop["what"]), superstep.ended_at))
        if plans := superstep.writes_to("plans"):
            self._plans = fold_plans(self._plans, plans)
            active = str(superstep.last_write("active_plan") or superstep.values.get("active_plan"))
            run.plan = dict(self._plans.get(active) or [*self._plans.values(), {}][-1]) or None

    def _add_notice(self, notice: Notice) -> None:
        notices = self._run.steps[-1].notices if self._run.steps else self._run.notices
        notices.append(notice)

    def _add_pause(self, begin: datetime, end: datetime) -> None:
        seconds = (end - begin).total_seconds()
        text = f"Paused for {span(seconds)}." if seconds >= 1 else ""
        notices = self._run.notices
        for step in self._run.steps:
            if step.started_at is not None and step.started_at <= begin:
                notices = step.notices
        notices.append(Notice("resumed", "Stopped here and resumed", text, end))


def start_run(run: TraceRun, first: Superstep, requests: Sequence[BaseMessage]) -> None:
    """Fill in the data from the first superstep of a run."""
    metadata = first.metadata
    run.request = "\n\n".join(map(get_text, requests)) or str(metadata.get("request", ""))
    for message in requests:
        run.images += list_images(message)
    run.started_at = first.started_at
    run.profile = str(metadata.get("profile") or "")
    run.workspace = str(metadata.get("workspace") or "")


def end_run(run: TraceRun, superstep: Superstep) -> None:
    """Fill in the data from a superstep about the run as a whole."""
    run.ended_at = superstep.ended_at
    run_state = superstep.last_write("run") or {}
    run.profile = run_state.get("profile") or run.profile
    run.workspace = run_state.get("workspace") or run.workspace
    if TAKEN_BACK in superstep.metadata:  # the usage includes that of undone steps
        run.usage = superstep.values.get("usage") or run.usage
    run.usage = superstep.last_write("usage") or run.usage
    run.status = superstep.last_write("status") or run.status
    if superstep.writes_to("stop_reason"):
        run.stop_reason = superstep.last_write("stop_reason")
        run.success = superstep.last_write("success")
        run.output = str(superstep.last_write("output") or "")


def later_spending(superstep: Superstep) -> RoleUsage:
    """Return the usage of runs that a rewind to this superstep has undone."""
    used: RoleUsage = superstep.metadata.get(TAKEN_BACK, {}).get("later", NOTHING_USED)
    return used


def rewind_notice(superstep: Superstep) -> Notice | None:
    """Return a notice about a rewind to this superstep, with the usage of the undone steps."""
    if TAKEN_BACK not in superstep.metadata:
        return None
    tokens = sum_tokens(sum_usage(*superstep.metadata[TAKEN_BACK].values()))
    text = f"{count(tokens, 'token')} were spent on steps that were undone." if tokens else ""
    return Notice("resumed", "Rewound to here", text, superstep.started_at)


def build_step(message: AIMessage, number: int) -> TraceStep:
    """Build a step from the message of the model that starts it."""
    tokens = None
    if used := message.usage_metadata:
        cached, cache_writes = cache_tokens(used.get("input_token_details"))
        tokens = RoleUsage(
            input_tokens=used["input_tokens"],
            output_tokens=used["output_tokens"],
            cached_tokens=cached,
            model_calls=1,
        )
        tokens["cache_write_tokens"] = cache_writes
    metadata = message.response_metadata
    return TraceStep(
        number,
        get_text(message).strip(),
        [TraceCall(str(c["id"]), str(c["name"]), c["args"]) for c in list_calls(message)],
        tokens,
        model=str(metadata.get("model_name") or ""),
        provider=str(metadata.get("model_provider") or ""),
        finish_reason=str(metadata.get("finish_reason") or ""),
    )


def observe(call: TraceCall, message: ToolMessage) -> None:
    """Add the result of a call."""
    call.observation = get_text(message)
    call.is_error = message.status == "error"
    call.images = list_images(message)
    call.picture = call_facts(message).get("picture") or {}


def list_images(message: BaseMessage) -> list[Image]:
    """Return the images embedded in a message; images given by URL are not fetched."""
    if isinstance(message.content, str):
        return []
    blocks: Any = message.content_blocks
    images = []
    for block in blocks:
        if block["type"] == "image" and "base64" in block:
            images.append(Image(block["base64"], block["mime_type"]))
    return images


def message_notice(superstep: Superstep, message: BaseMessage) -> Notice:
    """Return the notice of a message that the user sent during the run."""
    at = superstep.started_at
    message_id = str(message.id)
    return Notice("message", "Message from the user", get_text(message), at, message_id)


def questions(superstep: Superstep) -> list[Notice]:
    """Return the questions that paused the run, with their answers."""
    answers = {}
    for task, channel, value in superstep.writes:
        if channel == RESUME and value:
            answers[task] = value[-1] if isinstance(value, list) else value
    notices = {}
    for task, channel, value in superstep.writes:
        for interrupt in value if channel == INTERRUPT else ():
            if isinstance(interrupt, Interrupt):
                notice = Notice(
                    "question",
                    "The run waited for an answer",
                    get_subject(interrupt),
                    superstep.started_at,
                    answer=answers.get(task),
                )
                notices[interrupt.id] = notice
    return list(notices.values())


def _compaction_notice(compaction: dict[str, Any], superstep: Superstep) -> Notice:
    evicted = (
        compaction["evicted"] - (superstep.values.get("compaction") or {"evicted": 0})["evicted"]
    )
    title = f"Compacted the history: {count(evicted, 'message')} replaced by notes"
    notes = [get_text(m) for m in superstep.messages if isinstance(m, SystemMessage)]
    return Notice("compaction", title, "\n\n".join(notes), superstep.ended_at)


def idle_intervals(
    supersteps: Sequence[Superstep],
    inner: Iterable[Interval] = (),
    work: Iterable[datetime] = (),
) -> list[Interval]:
    """Return the intervals in which a run was paused, in order; overlapping ones are merged.

    An interval lasts from the superstep in which the run paused until it was resumed.

    Args:
        supersteps: those of the run.
        inner: pauses of a flow's agents.
        work: times at which the steps of a flow's agents ended. An interval with one of them
            inside is not idle: one step of a plan may wait while another works.
    """
    pauses = list(inner)
    for before, after in itertools.pairwise(supersteps):
        then = before.metadata.get("started")
        now = after.metadata.get("started")
        if now and now != then and not after.is_input:
            started = min(datetime.fromisoformat(now), after.started_at)
            paused_at = after.metadata.get("stood")
            begin = datetime.fromisoformat(paused_at) if paused_at else before.started_at
            pauses.append((begin, max(begin, started)))
    moments = list(work)
    quiet: list[Interval] = []
    for begin, end in sorted(pauses):
        if any(begin < moment < end for moment in moments):
            continue
        if quiet and begin <= quiet[-1][1]:
            quiet[-1] = (quiet[-1][0], max(end, quiet[-1][1]))
        else:
            quiet.append((begin, end))
    return quiet
