"""Fold the supersteps of a flow into a traced run: planner turns, step executions, summary."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, HumanMessage

from manus.pages.trace.agent_runs import (
    AgentRuns,
    end_run,
    idle_intervals,
    message_notice,
    questions,
    start_run,
)
from manus.pages.trace.model import Stage, TraceRun
from manus.state.messages import STEER, get_text
from manus.state.plan_changes import fold_plan
from manus.state.usage import RoleUsage, sum_usage
from manus.threads.history import Children, Superstep, unwrap_overwrite
from manus.threads.spending import TAKEN_BACK

_SENDS = "__pregel_tasks"


class FlowRuns:
    """Reads the runs of a flow on one thread, one after another."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._run = TraceRun("flow")
        self._plan: Any = {}
        self._set_aside: dict[str, Stage] = {}
        """Stages of steps that wait for a person, by the namespace of their executor."""

    def read(self, supersteps: Sequence[Superstep], number: int = 1) -> TraceRun:
        """Return the run that consists of these supersteps."""
        self._run = TraceRun("flow", number=number)
        self._plan = {}
        requests = [m for m in supersteps[0].messages if isinstance(m, HumanMessage)]
        start_run(self._run, supersteps[0], requests)
        for before, superstep in zip([None, *supersteps], supersteps, strict=False):
            self._take(superstep, before)
        self._finish(supersteps)
        return self._run

    def _take(self, superstep: Superstep, before: Superstep | None) -> None:
        tasks = _sent_tasks(before)
        for task in tasks:
            self._fill(self._stage_for(task), superstep, task)
        plan_before = self._plan
        self._plan = fold_plan(self._plan, superstep.writes_to("plan"))
        if not tasks:
            self._run.notices += questions(superstep)
            for message in superstep.messages:
                if STEER in message.additional_kwargs:
                    self._run.notices.append(message_notice(superstep, message))
            if superstep.writes_to("run") or _has_new_steps(superstep):
                stage = self._add_stage("plan", _title(superstep, plan_before), superstep)
                stage.plan = dict(self._plan) or None
        has_reply = any(isinstance(message, AIMessage) for message in superstep.messages)
        if has_reply and superstep.writes_to("stop_reason"):
            self._add_stage("summary", "Summary", superstep)
        end_run(self._run, superstep)

    def _stage_for(self, task: Mapping[str, Any]) -> Stage:
        """Return the stage of a step that was set aside, or a new one."""
        stage = self._set_aside.pop(str(task.get("space")), None)
        if stage is None:
            stage = Stage("step", "")
            self._run.stages.append(stage)
        return stage

    def _add_stage(
        self, kind: Literal["plan", "summary"], title: str, superstep: Superstep
    ) -> Stage:
        stage = Stage(kind, title, superstep.started_at, superstep.ended_at)
        self._run.stages.append(stage)
        return stage

    def _fill(self, stage: Stage, superstep: Superstep, task: Mapping[str, Any]) -> None:
        """Fill in the stage of a plan step from what the superstep wrote.

        A step that was set aside with a question and sent again stays one stage.
        """
        index = int(task["step"])
        steps = (self._plan or {}).get("steps", [])
        step = steps[index] if index < len(steps) else {}
        change: Mapping[str, Any] = {}
        for write in superstep.writes_to("plan"):
            if _is_result(write) and write["step"] == index:
                change = write
                break
        result = change.get("result") or {}
        run = self._agent_run(superstep, task) or stage.run
        _describe(stage, index, step)
        stage.executor = str(task.get("executor", ""))
        stage.status = change.get("status", "in_progress")
        stage.notes = change.get("notes", "")
        stage.result = result.get("text", "")
        stage.files = list(result.get("files", []))
        stage.run = run
        stage.started_at = stage.started_at or superstep.started_at
        stage.ended_at = superstep.ended_at if change else None
        if run is not None:  # parallel steps share a superstep; the run has exact times
            stage.started_at = run.started_at or stage.started_at
            stage.ended_at = run.ended_at or stage.ended_at
        for write in superstep.writes_to("plan"):
            if isinstance(write, dict) and write.get("waiting") and write["step"] == index:
                self._set_aside[str(write.get("space"))] = stage

    def _agent_run(self, superstep: Superstep, task: Mapping[str, Any]) -> TraceRun | None:
        """Return the agent run of a step, found by its request; None before a checkpoint."""
        for supersteps in self._children.get(superstep.id, []):
            if task.get("request") in [get_text(m) for m in supersteps[0].messages]:
                return AgentRuns(self._children).read(supersteps)
        return None

    def _finish(self, supersteps: Sequence[Superstep]) -> None:
        """Fill in totals, idle time and the steps that never started."""
        run = self._run
        agents = self._run.agents
        run.tokens = sum_usage(
            *(agent.tokens for agent in agents),
            *_own_usage(supersteps),
            *_taken_back(supersteps),
        )
        run.ended_at = max(r.ended_at for r in [run, *agents] if r.ended_at is not None)
        step_ends = [step.ended_at for step in run.agent_steps if step.ended_at is not None]
        inner = itertools.chain.from_iterable(agent.idle for agent in agents)
        run.idle = idle_intervals(supersteps, inner, step_ends)
        seconds = 0.0
        for superstep in supersteps:
            for usage in superstep.writes_to("usage"):
                seconds += usage.get("seconds", 0.0)
        run.usage = {"seconds": seconds}
        run.plan = dict(self._plan) or None
        for index, step in enumerate((run.plan or {}).get("steps", [])):
            if step["status"] == "not_started":
                stage = Stage("step", "")
                _describe(stage, index, step)
                run.stages.append(stage)


def _sent_tasks(before: Superstep | None) -> list[dict[str, Any]]:
    """Return the arguments of the steps that the previous superstep sent out."""
    if before is None:
        return []
    return [send.arg for send in before.writes_to(_SENDS) if "step" in send.arg]


def _has_new_steps(superstep: Superstep) -> bool:
    changes = superstep.writes_to("plan")
    return any(isinstance(change, dict) and "steps" in change for change in changes)


def _describe(stage: Stage, index: int, step: Mapping[str, Any]) -> None:
    """Copy the description of a plan step into its stage."""
    stage.title = str(step.get("text", ""))
    stage.index = index
    stage.executor = str(step.get("executor", ""))
    stage.status = str(step.get("status", ""))
    stage.notes = str(step.get("notes", ""))
    stage.depends_on = list(step.get("depends_on", []))


def _own_usage(supersteps: Sequence[Superstep]) -> Iterator[RoleUsage]:
    """Yield the usage of planner and summary, without that of the plan's steps."""
    for superstep in supersteps:
        step_tasks = {task for task, _, value in superstep.writes if _is_result(value)}
        for task, name, value in superstep.writes:
            if name == "usage" and task not in step_tasks:
                yield unwrap_overwrite(value)


def _taken_back(supersteps: Sequence[Superstep]) -> Iterator[RoleUsage]:
    """Yield the usage of steps and runs that a rewind has undone."""
    for superstep in supersteps:
        yield from superstep.metadata.get(TAKEN_BACK, {}).values()


def _is_result(change: Any) -> bool:
    return isinstance(change, dict) and "step" in change and "result" in change


def _title(superstep: Superstep, plan_before: Any) -> str:
    run_after = superstep.last_write("run")
    run_before = superstep.values.get("run") or {}
    if run_after is None:
        return "Edited by a person"
    if not plan_before or run_after.get("id") != run_before.get("id"):
        return "Plan"
    if run_after.get("replans_left", 0) < run_before.get("replans_left", 0):
        return "Revised plan"
    return "Approved" if run_after.get("approval") == "given" else "Plan, repeated"
