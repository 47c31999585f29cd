"""What a person says to a plan: carry it out, change it, make another, or leave it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from manus.execution.decisions import hitl_question
from manus.nodes.active_run import ActiveRun
from manus.prompts import flow as prompts
from manus.state.errors import PlanError
from manus.state.plan import Plan, format_plan
from manus.state.plan_changes import change_step, merge_edit
from manus.state.text import read_json

Kind = Literal["approve", "edit", "reject", "cancel"]

_TYPES: dict[Kind, tuple[str, ...]] = {
    "approve": ("approve", "accept"),
    "cancel": ("ignore",),
    "reject": ("reject", "response"),
    "edit": ("edit",),
}
"""Decisions as LangChain's middleware and its older chat UIs call them."""
_YES = ("approve", "accept", "yes", "y", "ok", "go", "")
_EDIT_LINE = re.compile(r"^\s*(?:edit|change)\s+(?:step\s+)?(\d+)\s*[:=]\s*(.+)$", re.I | re.S)
_REJECT_LINE = re.compile(r"^\s*(?:reject|no)\b[\s:,.!-]*(.*)$", re.I | re.S)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to become of a plan."""

    kind: Kind
    plan: Plan
    reason: str = ""


def ask_for_approval(present: Plan, active_run: ActiveRun) -> Decision:
    """The person's decision; asked again while the answer cannot be understood."""
    question = prompts.approve(format_plan(present))
    subject = prompts.approve_subject(format_plan(present))
    allowed = ["approve", "edit", "reject"]
    while True:
        try:
            asked = hitl_question(
                "plan", "plan", present, question, allowed, plan=present, subject=subject
            )
            answer = interrupt(asked)
        except GraphBubbleUp:
            active_run.session.waiting = True
            raise
        try:
            return read_decision(answer, present)
        except PlanError as error:
            question = f"{error}\n\n{prompts.approve(format_plan(present))}"
            subject = f"{error}\n\n{prompts.approve_subject(format_plan(present))}"


def read_decision(answer: Any, plan: Plan) -> Decision:
    """The decision in an answer.

    In words: `yes`; `edit 1: new text`; `edit` and below it all steps, a line each; `cancel`;
    anything else rejects the plan, with these words as the reason. As data what LangChain's
    middleware takes, `{"decisions": [{"type": "approve"}]}`: `approve`, `reject` with a `message`,
    or `edit` with an `edited_action` whose `args` are all `steps`, or a `step` and its `text`.

    Raises:
        PlanError: it is none of these, or the change that it asks for does not fit the plan.
    """
    if isinstance(answer, bool):
        answer = "yes" if answer else "no"
    if isinstance(answer, str):
        answer = _of_words(answer.strip())
    if isinstance(answer, Mapping):
        answer = answer.get("decisions") or answer
    if isinstance(answer, list) and len(answer) == 1:  # of chat UIs
        answer = answer[0]
    said = answer if isinstance(answer, Mapping) else {}
    kind = next((k for k, types in _TYPES.items() if said.get("type") in types), None)
    if kind is None:
        raise PlanError(
            "An answer to a plan is `yes`, `edit …`, `cancel` or what should be different; as data "
            "it is a decision of the `type` `approve`, `edit` or `reject`."
        )
    if kind == "edit":
        return Decision(kind, _edited(said, plan))
    reason = said.get("message") or said.get("args") or ""
    return Decision(kind, plan, str(reason) if kind == "reject" else "")


def _of_words(said: str) -> Any:
    """An answer in words, as data."""
    word, _, lines = said.partition("\n")
    if (whole := said.lower().rstrip(".!")) in _YES:
        return {"type": "approve"}
    if whole in ("cancel", "stop"):
        return {"type": "ignore"}
    if word.strip().lower() == "edit" and lines.strip():
        steps = [line.strip() for line in lines.splitlines() if line.strip()]
        return {"type": "edit", "edited_action": {"args": {"steps": steps}}}
    if match := _EDIT_LINE.match(said):
        change = {"step": int(match[1]), "text": match[2].strip()}
        return {"type": "edit", "edited_action": {"args": change}}
    rejected = _REJECT_LINE.match(said)
    return {"type": "reject", "message": rejected[1].strip() if rejected else said}


def _edited(said: Mapping[str, Any], plan: Plan) -> Plan:
    given = (said.get("edited_action") or {}).get("args") or {}
    if isinstance(steps := given.get("steps"), str):  # chat UIs edit it as a text
        with contextlib.suppress(ValueError):
            given = {**given, "steps": read_json(steps)}
    if "steps" in given:
        return merge_edit(plan, {**given, "id": plan["id"]})
    if "step" in given:
        return change_step(plan, given)
    raise PlanError("An edit needs all `steps`, or a `step` and its `text`.")
