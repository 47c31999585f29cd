"""The supersteps of a flow, folded into a run: the planner's turns, executions, the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from manus.pages.trace.agent_runs import AgentRuns, begin_run, end_run, idle_intervals, questions
from manus.pages.trace.model import Run, Stage
from manus.state.messages import text_of
from manus.state.plan_changes import fold_plan
from manus.state.usage import RoleUsage, sum_usage
from manus.store.history import Children, Superstep, unwrap_overwrite

_SENDS = "__pregel_tasks"


class FlowRuns:
    """Reads the runs of a flow on one thread, one after the other."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self._run = Run("flow")
        self._plan: Any = {}
        self._set_aside: dict[str, Stage] = {}
        """Stages of steps that wait for a person, by the namespace of their executor."""

    def read(self, supersteps: Sequence[Superstep], number: int = 1) -> Run:
        """The run that these supersteps are."""
        self._run = Run("flow", number=number)
        self._plan = {}
        asked = [m for m in supersteps[0].messages if isinstance(m, HumanMessage)]
        begin_run(self._run, supersteps[0], asked)
        for before, superstep in zip([None, *supersteps], supersteps, strict=False):
            self._take(superstep, before)
        self._finish(supersteps)
        return self._run

    def _take(self, superstep: Superstep, before: Superstep | None) -> None:
        run = self._run
        sends = [s.arg for s in before.writes_to(_SENDS) if "step" in s.arg] if before else []
        for task in sends:
            stage = self._set_aside.pop(str(task.get("space")), None)
            if stage is None:
                stage = Stage("step", "")
                run.stages.append(stage)
            self._fill(stage, superstep, task)
        if not sends:
            run.notices += questions(superstep)
        written = superstep.writes_to("plan")
        known = self._plan
        self._plan = fold_plan(self._plan, written)
        is_whole = any("steps" in one for one in written if isinstance(one, dict))
        if (superstep.writes_to("run") or is_whole) and not sends:
            stage = Stage(
                "plan", _title(superstep, known), superstep.started_at, superstep.ended_at
            )
            stage.plan = dict(self._plan) or None
            run.stages.append(stage)
        said = any(isinstance(m, AIMessage) for m in superstep.messages)
        if said and superstep.writes_to("stop_reason"):
            run.stages.append(Stage("summary", "Summary", superstep.started_at, superstep.ended_at))
        end_run(run, superstep)

    def _fill(self, stage: Stage, superstep: Superstep, task: Mapping[str, Any]) -> None:
        """Fill in the stage of a step that was sent out, from what the superstep wrote.

        A step that was set aside with a question is sent out again, and is one stage all the same.
        """
        index = int(task["step"])
        steps = (self._plan or {}).get("steps", [])
        step = steps[index] if index < len(steps) else {}
        changes = (c for c in superstep.writes_to("plan") if _is_end(c) and c["step"] == index)
        change: Mapping[str, Any] = next(changes, {})
        result = change.get("result") or {}
        run = self._agent_run(superstep, task) or stage.run
        _describe(stage, index, step)
        stage.executor = str(task.get("executor", ""))
        stage.status = change.get("status", "in_progress")
        stage.notes = change.get("notes", "")
        stage.result = result.get("text", "")
        stage.files = list(result.get("files", []))
        stage.run = run
        stage.began = stage.began or superstep.started_at
        stage.ended = superstep.ended_at if change else None
        if run is not None:  # steps side by side end together only for the flow
            stage.began = run.began or stage.began
            stage.ended = run.ended or stage.ended
        for change in superstep.writes_to("plan"):
            if isinstance(change, dict) and change.get("waiting") and change["step"] == index:
                self._set_aside[str(change.get("space"))] = stage

    def _agent_run(self, superstep: Superstep, task: Mapping[str, Any]) -> Run | None:
        """The conversation of a step, known by its request; None before its first checkpoint."""
        for supersteps in self._children.get(superstep.id, []):
            if task.get("request") in [text_of(m) for m in supersteps[0].messages]:
                return AgentRuns(self._children).read(supersteps)
        return None

    def _finish(self, supersteps: Sequence[Superstep]) -> None:
        """What can be told only when all is known: totals, idle time, steps that never began."""
        run = self._run
        agents = self._run.agents
        run.tokens = sum_usage(*(agent.tokens for agent in agents), *_own_usage(supersteps))
        run.ended = max(one.ended for one in [run, *agents] if one.ended is not None)
        work = [s.ended for s in run.agent_steps if s.ended is not None]
        run.idle = idle_intervals(supersteps, (i for agent in agents for i in agent.idle), work)
        counts = [usage.get("seconds", 0.0) for s in supersteps for usage in s.writes_to("usage")]
        run.usage = {"seconds": sum(counts)}
        run.plan = dict(self._plan) or None
        for index, step in enumerate((run.plan or {}).get("steps", [])):
            if step["status"] == "not_started":
                stage = Stage("step", "")
                _describe(stage, index, step)
                run.stages.append(stage)


def _describe(stage: Stage, index: int, step: Mapping[str, Any]) -> None:
    """Describe a step as it stands in the plan."""
    stage.title = str(step.get("text", ""))
    stage.index = index
    stage.executor = str(step.get("executor", ""))
    stage.status = str(step.get("status", ""))
    stage.notes = str(step.get("notes", ""))
    stage.depends_on = list(step.get("depends_on", []))


def _own_usage(supersteps: Sequence[Superstep]) -> Iterator[RoleUsage]:
    """What planner and summary used: each write is of its own; those of steps are left out."""
    for superstep in supersteps:
        of_steps = {task for task, name, value in superstep.writes if _is_end(value)}
        for task, name, value in superstep.writes:
            if name == "usage" and task not in of_steps:
                yield unwrap_overwrite(value)


def _is_end(change: Any) -> bool:
    return isinstance(change, dict) and "step" in change and "result" in change


def _title(superstep: Superstep, plan_before: Any) -> str:
    written = superstep.last_write("run")
    known = superstep.values.get("run") or {}
    if written is None:
        return "Edited by a person"
    if not plan_before or written.get("id") != known.get("id"):
        return "Plan"
    if written.get("replans_left", 0) < known.get("replans_left", 0):
        return "Revised plan"
    return "Approved" if written.get("approval") == "given" else "Plan, once more"
