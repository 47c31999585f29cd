"""Read the trace of a thread, from a store or from one state of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from manus.pages.trace.agent_runs import AgentRuns, build_step, observe
from manus.pages.trace.flow_runs import FlowRuns
from manus.pages.trace.model import Stage, TraceRun, TraceStep
from manus.state.history import is_closing, messages_since
from manus.state.messages import get_text
from manus.state.plan import Step as PlanStep
from manus.threads.history import (
    COMPACTED,
    ROOT,
    History,
    Superstep,
    find_children,
    is_waiting,
    read_history,
)
from manus.threads.serializer import DecodedValues, unwrap_full_copies

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


async def read_trace(
    saver: BaseCheckpointSaver[Any],
    thread_id: str,
    *,
    is_running: bool = False,
    decoded: DecodedValues | None = None,
) -> list[TraceRun]:
    """Return all runs of a thread; empty if the thread does not exist.

    `is_running`: whether a process is running the thread, which checkpoints do not record.
    `decoded`: values of its previous reading.
    """
    history = await read_history(saver, thread_id, decoded)
    if not (root := history.get(ROOT)) or not root[0].metadata.get(COMPACTED):
        return read_runs(history, is_running=is_running)
    earlier = await _read_compacted(saver, thread_id, root[0])
    if not root[1:]:
        return earlier
    later = read_runs({**history, ROOT: root[1:]}, is_running=is_running)
    for run in later:
        run.number += len(earlier)
    earlier[-1].is_newest = False
    return earlier + later


async def _read_compacted(
    saver: BaseCheckpointSaver[Any], thread_id: str, superstep: Superstep
) -> list[TraceRun]:
    """Return the runs of a thread up to the checkpoint that its compaction has kept."""
    place = {"thread_id": thread_id, "checkpoint_ns": ROOT, "checkpoint_id": superstep.id}
    stored = await saver.aget_tuple({"configurable": place})
    values = unwrap_full_copies(stored.checkpoint["channel_values"] if stored else {})
    newest = read_run(values)
    runs = [*_read_earlier_runs(values, newest), newest]
    for number, run in enumerate(runs, 1):
        run.number = number
        run.is_newest = run is newest
        _set_times(run, superstep.started_at)
    newest.request = newest.request or str(superstep.metadata.get("request") or "")
    newest.profile = str(superstep.metadata.get("profile") or "")
    return runs


def _set_times(run: TraceRun, time: datetime) -> None:
    """Set the times of a run and its steps, which are no longer known, to that of its end."""
    parts: list[TraceRun | TraceStep | Stage] = [run, *run.steps, *run.stages]
    for part in parts:
        part.started_at = time
        part.ended_at = time
    for step in run.steps:
        step.answered_at = time


def _read_earlier_runs(values: Mapping[str, Any], newest: TraceRun) -> list[TraceRun]:
    """Return the runs in the messages of an agent before the newest, which gets its request."""
    request_id = (values.get("run") or {}).get("request_id")
    runs: list[TraceRun] = []
    messages: list[AnyMessage] = []
    for message in values.get("messages") or []:
        if isinstance(message, HumanMessage):
            if runs:
                runs[-1].steps = list(steps_in(messages))
            messages = []
            if message.id == request_id:
                newest.request = get_text(message)
                break
            runs.append(TraceRun(request=get_text(message), stop_reason="answered", success=True))
        messages.append(message)
    return runs


def read_runs(history: History, *, is_running: bool = False) -> list[TraceRun]:
    """Return the runs that the supersteps of a thread make up; agent and flow runs may be mixed."""
    children = find_children(history)
    root = history.get(ROOT, [])
    agent = AgentRuns(children)
    flow = FlowRuns(children)
    reader: AgentRuns | FlowRuns
    runs = []
    for number, supersteps in enumerate(_split_runs(root), 1):
        reader = flow if _is_flow(supersteps) else agent
        runs.append(reader.read(supersteps, number))
    for run in runs[:-1]:
        run.is_newest = False
    if runs and (newest := runs[-1]).stop_reason is None:
        newest.is_running = is_running
        newest.is_waiting = not is_running and is_waiting(root[-1].writes)
    return runs


def _split_runs(supersteps: Sequence[Superstep]) -> list[list[Superstep]]:
    """Split supersteps by run: a run starts with a request or with another run id in the state."""
    runs: list[list[Superstep]] = []
    run_id = ""
    for superstep in supersteps:
        new_id = (superstep.last_write("run") or {}).get("id") or run_id
        if superstep.is_input:
            is_new = any(isinstance(message, HumanMessage) for message in superstep.messages)
        else:
            is_new = bool(run_id) and new_id != run_id
        if not runs or is_new:
            runs.append([])
            new_id = "" if superstep.is_input else new_id
        runs[-1].append(superstep)
        run_id = new_id
    return runs


def _is_flow(supersteps: Sequence[Superstep]) -> bool:
    return any(s.metadata.get("graph") == "flow" or s.writes_to("plan") for s in supersteps)


def read_run(values: Mapping[str, Any]) -> TraceRun:
    """Return the newest run in a state of the agent graph or of the flow graph.

    Steps that compaction evicted are missing; the others keep their numbers. A flow's run has a
    stage for each step of its plan, without the conversation of its executor.
    """
    run_state = values.get("run") or {}
    run = TraceRun(
        workspace=str(run_state.get("workspace") or ""),
        status=str(values.get("status") or "idle"),
        stop_reason=values.get("stop_reason"),
        success=values.get("success"),
        output=str(values.get("output") or ""),
        usage=dict(values.get("usage") or {}),
    )
    messages = values.get("messages") or []
    if request_id := run_state.get("request_id"):
        messages = messages_since(messages, request_id)
    started = len(values.get("results") or ()) + (run.status == "executing")
    evicted = started - len(_list_replies(messages))
    run.steps = list(steps_in(messages, 1 + max(evicted, 0)))
    if plan := values.get("plan"):
        run.kind = "flow"
        run.plan = plan
        run.steps = []
        run.stages = [_build_stage(index, step) for index, step in enumerate(plan["steps"])]
    return run


def _build_stage(index: int, step: PlanStep) -> Stage:
    result = step.get("result")
    return Stage(
        "step",
        step["text"],
        index=index,
        executor=step["executor"],
        status=step["status"],
        notes=step["notes"],
        result=result["text"] if result else "",
        files=result["files"] if result else [],
        depends_on=step["depends_on"],
    )


def _list_replies(messages: Sequence[AnyMessage]) -> list[AIMessage]:
    return [m for m in messages if isinstance(m, AIMessage) and not is_closing(m)]


def steps_in(messages: Sequence[AnyMessage], first: int = 1) -> Iterator[TraceStep]:
    """Yield the steps that messages make up: each reply with its observations."""
    observations = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    for number, reply in enumerate(_list_replies(messages), first):
        step = build_step(reply, number)
        for call in step.calls:
            observation = observations.get(call.id)
            if observation is not None:
                observe(call, observation)
        yield step
