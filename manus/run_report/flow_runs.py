"""The supersteps of a flow, folded into its runs: the planner's turns, executions, the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Overwrite, Send

from manus.run_report.conversation import conversations, messages_of, plain
from manus.run_report.facts import Conversation, Row, RunFacts
from manus.run_report.notices import question_notices
from manus.run_report.pauses import find_pauses, without_work
from manus.run_report.trail import INTERRUPT, ROOT, SENDS, Superstep, Trail
from manus.run_report.usage import own_points
from manus.state.messages import text_of
from manus.state.plan_changes import fold_plan

REVISED = "Revised plan"


def flow_runs(trail: Trail) -> list[RunFacts]:
    """The runs of a flow, in order."""
    fold = _Fold(trail)
    for place, superstep in enumerate(trail.root):
        fold.take(superstep, trail.root[place - 1] if place else None)
    for run, own in zip(fold.runs, fold.supersteps, strict=True):
        _finish(run, own)
    return fold.runs


class _Fold:
    """Takes one superstep after the other."""

    def __init__(self, trail: Trail) -> None:
        self.runs: list[RunFacts] = []
        self.supersteps: list[list[Superstep]] = []
        self._spaces: Mapping[str, Sequence[Superstep]] = trail.spaces
        self._plan: Any = {}

    def take(self, superstep: Superstep, before: Superstep | None) -> None:
        asked = [m for m in messages_of(superstep) if isinstance(m, HumanMessage)]
        if superstep.is_input and (asked or not self.runs):
            self._begin(superstep, "\n\n".join(map(text_of, asked)))
        if not self.runs:
            return
        run = self.runs[-1]
        self.supersteps[-1].append(superstep)
        sends = [s.arg for s in before.written(SENDS) if _is_step(s)] if before else []
        for task in sends:
            run.rows.append(self._execution(superstep, task))
        self._planner(superstep, run, bool(sends))
        self._summary(superstep, run)
        self._end(superstep, run.talk)

    def _begin(self, superstep: Superstep, words: str) -> None:
        known = superstep.metadata
        talk = Conversation(
            request=words or str(known.get("request", "")),
            began=superstep.at,
            profile=str(known.get("profile") or ""),
            workspace=str(known.get("workspace") or ""),
        )
        self.runs.append(RunFacts(len(self.runs) + 1, "flow", talk))
        self.supersteps.append([])
        self._plan = {}

    def _execution(self, superstep: Superstep, task: Mapping[str, Any]) -> Row:
        """A step that was sent out; what came of it is among what the superstep wrote."""
        index = int(task["step"])
        step = self._step(index)
        changes = (c for c in superstep.written("plan") if _is_end(c, index))
        change: dict[str, Any] = next(changes, {})
        space = change.get("space") or self._space_of(superstep, task)
        # a step that has just been sent out has no checkpoint of its own yet
        talks = conversations(self._spaces.get(space, [])) if space != ROOT else []
        row = Row(
            kind="step",
            title=str(step.get("text", "")),
            began=talks[0].began if talks else superstep.at,
            ended=superstep.end if change else None,
            index=index,
            executor=str(task.get("executor", "")),
            status=change.get("status", "in_progress"),
            notes=change.get("notes", ""),
            result=(change.get("result") or {}).get("text", ""),
            files=list((change.get("result") or {}).get("files", [])),
            depends_on=list(step.get("depends_on", [])),
            talk=talks[0] if talks else None,
        )
        if row.talk is not None and row.talk.ended is not None:
            row.ended = row.talk.ended  # steps side by side end together only for the flow
        return row

    def _step(self, index: int) -> dict[str, Any]:
        steps = (self._plan or {}).get("steps", [])
        return dict(steps[index]) if index < len(steps) else {}

    def _space_of(self, superstep: Superstep, task: Mapping[str, Any]) -> str:
        """The namespace of a step at work, which the plan does not know yet: by its request.

        `ROOT` if there is none yet.
        """
        for space, own in self._spaces.items():
            if space == ROOT or not own:
                continue
            parents = own[0].metadata.get("parents") or {}
            said = [text_of(m) for m in messages_of(own[0])]
            if superstep.id in parents.values() and task.get("request") in said:
                return space
        return ROOT

    def _planner(self, superstep: Superstep, run: RunFacts, at_work: bool) -> None:
        before = self._plan
        for write in superstep.written("plan"):
            self._plan = (
                write.value if isinstance(write, Overwrite) else fold_plan(self._plan, [write])
            )
        planned = superstep.written("run") and not superstep.is_edit
        whole = any(_is_whole(plain(w)) for w in superstep.written("plan"))
        for notice in question_notices(superstep.written(INTERRUPT), superstep.at):
            if not at_work:
                run.talk.loose.append(notice)
        if not (planned or whole) or at_work:
            return
        row = Row("plan", _planner_title(superstep, before), superstep.at, superstep.end)
        row.plan = dict(self._plan) if self._plan else None
        run.rows.append(row)

    def _summary(self, superstep: Superstep, run: RunFacts) -> None:
        said = [m for m in messages_of(superstep) if isinstance(m, AIMessage)]
        if said and superstep.written("stop_reason"):
            run.rows.append(Row("summary", "Summary", superstep.at, superstep.end))

    def _end(self, superstep: Superstep, talk: Conversation) -> None:
        talk.ended = superstep.end
        talk.plan = dict(self._plan) if self._plan else None
        if (run := superstep.last("run")) is not None:
            talk.run_id, talk.workspace = run["id"], run["workspace"]
        if (status := superstep.last("status")) is not None:
            talk.status = status
        if superstep.written("stop_reason"):
            talk.stop_reason = superstep.last("stop_reason")
            talk.success = superstep.last("success")
            talk.output = str(superstep.last("output") or "")


def _is_step(send: Any) -> bool:
    return isinstance(send, Send) and isinstance(send.arg, dict) and "step" in send.arg


def _is_end(change: Any, index: int) -> bool:
    return isinstance(change, dict) and change.get("step") == index and "result" in change


def _is_whole(write: Any) -> bool:
    writes = write if isinstance(write, list) else [write]
    return any(isinstance(one, dict) and "steps" in one for one in writes)


def _planner_title(superstep: Superstep, before: Any) -> str:
    if superstep.is_edit:
        return "Edited by a person"
    written = superstep.last("run") or {}
    known = superstep.values.get("run") or {}
    if not before or written.get("id") != known.get("id"):
        return "Plan"
    if written.get("replans_left", 0) < known.get("replans_left", 0):
        return REVISED
    return "Approved" if written.get("approval") == "given" else "Plan, once more"


def _finish(run: RunFacts, own: Sequence[Superstep]) -> None:
    """What can be told only when all is known: totals, pauses, and steps that never began."""
    talks, talk = run.conversations, run.talk
    points = [*own_points(own), *(p for t in talks for p in t.points)]
    talk.points = sorted(points, key=lambda point: point.at)
    talk.ended = max(t.ended for t in [talk, *talks] if t.ended is not None)
    moments = [s.ended for t in talks for s in t.steps if s.ended is not None]
    pauses = [*find_pauses(own, adds=True), *(p for t in talks for p in t.pauses)]
    talk.pauses = without_work(pauses, moments)
    counts = [plain(usage).get("seconds", 0.0) for s in own for usage in s.written("usage")]
    talk.usage = {"seconds": sum(counts)}
    for index, step in enumerate((talk.plan or {}).get("steps", [])):
        if step["status"] == "not_started":
            run.rows.append(_waiting(index, step))


def _waiting(index: int, step: Mapping[str, Any]) -> Row:
    return Row(
        kind="step",
        title=str(step["text"]),
        began=None,
        index=index,
        executor=str(step.get("executor", "")),
        status="not_started",
        notes=str(step.get("notes", "")),
        depends_on=list(step.get("depends_on", [])),
    )
