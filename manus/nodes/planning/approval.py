"""Ask a person to approve a plan: execute it, change it, create another, or cancel."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from manus.calls.decisions import hitl_question
from manus.nodes.active_run import ActiveRun
from manus.prompts import flow as prompts
from manus.state.errors import PlanError
from manus.state.plan import Plan, format_plan
from manus.state.plan_changes import change_step, merge_edit
from manus.state.text import read_json
from manus.threads.history import ANSWERS

Kind = Literal["approve", "edit", "reject", "cancel"]

_TYPES: dict[Kind, tuple[str, ...]] = {
    "approve": ("approve", "accept"),
    "cancel": ("ignore",),
    "reject": ("reject", "response"),
    "edit": ("edit",),
}
"""Names of the decisions in LangChain's middleware and its older chat UIs."""
_YES = ("approve", "accept", "yes", "y", "ok", "go", "")
_EDIT_LINE = re.compile(r"^\s*(?:edit|change)\s+(?:step\s+)?(\d+)\s*[:=]\s*(.+)$", re.I | re.S)
_REJECT_LINE = re.compile(r"^\s*(?:reject|no)\b[\s:,.!-]*(.*)$", re.I | re.S)


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about a plan."""

    kind: Kind
    plan: Plan
    reason: str = ""


def ask_for_approval(plan: Plan, active_run: ActiveRun) -> Decision:
    """Return the person's decision. Ask again if the answer is not understood."""
    text = format_plan(plan)
    question = prompts.approve(text)
    subject = prompts.approve_subject(text)
    allowed = ["approve", "edit", "reject"]
    number = 0
    while True:
        try:
            request = hitl_question(
                "plan", "plan", plan, question, allowed, plan=plan, subject=subject
            )
            answer = interrupt({**request, ANSWERS: number})
        except GraphBubbleUp:
            active_run.session.waiting = True
            raise
        try:
            return read_decision(answer, plan)
        except PlanError as error:
            number += 1
            question = f"{error}\n\n{prompts.approve(text)}"
            subject = f"{error}\n\n{prompts.approve_subject(text)}"


def read_decision(answer: Any, plan: Plan) -> Decision:
    """Parse an answer into a decision.

    Text: `yes`; `edit 1: new text`; `edit` followed by all steps, one per line; `cancel`; any other
    text rejects the plan, and is the reason. Data has the form of LangChain's middleware,
    `{"decisions": [{"type": "approve"}]}`: `approve`, `reject` with a `message`, or `edit` with an
    `edited_action` whose `args` are all `steps`, or a `step` and its `text`.

    Raises:
        PlanError: it is none of these, or the edit does not fit the plan.
    """
    if isinstance(answer, bool):
        answer = "yes" if answer else "no"
    if isinstance(answer, str):
        answer = _parse_text(answer.strip())
    if isinstance(answer, Mapping):
        answer = answer.get("decisions") or answer
    if isinstance(answer, list) and len(answer) == 1:  # from chat UIs
        answer = answer[0]
    data = answer if isinstance(answer, Mapping) else {}
    kind = _kind(data.get("type"))
    if kind is None:
        raise PlanError(
            "Answer a plan with `yes`, `edit …`, `cancel` or what should be different; as data, "
            "with a decision of the `type` `approve`, `edit` or `reject`."
        )
    if kind == "edit":
        return Decision(kind, _edit_plan(data, plan))
    if kind == "reject":
        return Decision(kind, plan, str(data.get("message") or data.get("args") or ""))
    return Decision(kind, plan)


def _kind(name: Any) -> Kind | None:
    for kind, names in _TYPES.items():
        if name in names:
            return kind
    return None


def _parse_text(text: str) -> Any:
    """Parse a text answer into data."""
    word, _, lines = text.partition("\n")
    lowered = text.lower().rstrip(".!")
    if lowered in _YES:
        return {"type": "approve"}
    if lowered in ("cancel", "stop"):
        return {"type": "ignore"}
    if word.strip().lower() == "edit" and lines.strip():
        steps = [line.strip() for line in lines.splitlines() if line.strip()]
        return {"type": "edit", "edited_action": {"args": {"steps": steps}}}
    edit = _EDIT_LINE.match(text)
    if edit:
        change = {"step": int(edit[1]), "text": edit[2].strip()}
        return {"type": "edit", "edited_action": {"args": change}}
    rejection = _REJECT_LINE.match(text)
    reason = rejection[1].strip() if rejection else text
    return {"type": "reject", "message": reason}


def _edit_plan(data: Mapping[str, Any], plan: Plan) -> Plan:
    """Return the plan as edited by a decision."""
    arguments = (data.get("edited_action") or {}).get("args") or {}
    steps = arguments.get("steps")
    if isinstance(steps, str):  # chat UIs edit the list as text
        with contextlib.suppress(ValueError):
            arguments = {**arguments, "steps": read_json(steps)}
    if "steps" in arguments:
        return merge_edit(plan, {**arguments, "id": plan["id"]})
    if "step" in arguments:
        return change_step(plan, arguments)
    raise PlanError("An edit needs all `steps`, or a `step` and its `text`.")
