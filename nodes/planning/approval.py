"""What a person says to a plan: carry it out, change it, make another, or leave it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from manus.state.errors import PlanError
from manus.state.plan import Plan
from manus.state.plan_changes import StepChange, as_edited, changed_step
from manus.state.plan_edits import as_meant

Kind = Literal["approve", "edit", "reject", "cancel"]

_APPROVE = frozenset({"approve", "approved", "accept", "yes", "y", "ok", "okay", "go", "true", ""})
_CANCEL = frozenset({"cancel", "stop", "abort", "quit", "ignore"})
_REJECT = frozenset({"reject", "no", "n", "response", "respond", "revise", "false"})
_EDIT = frozenset({"edit", "change", "update"})
_EDIT_LINE = re.compile(r"^\s*(?:edit|change)\s+(?:step\s+)?(\d+)\s*[:=]\s*(.+)$", re.I | re.S)
_REJECT_LINE = re.compile(r"^\s*(?:reject|no)\b[\s:,.!-]*(.*)$", re.I | re.S)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to become of a plan."""

    kind: Kind
    plan: Plan
    reason: str = ""


def read_decision(answer: Any, plan: Plan) -> Decision:
    """The decision in an answer.

    In words: `yes`; `edit 1: new text`; `cancel`; anything else rejects the plan, with these words
    as the reason. As data: `{"action": "approve"}`, `{"action": "edit", "plan": {…}}` or
    `"steps": […]` or `"step": 1, "text": "…"`, `{"action": "reject", "reason": "…"}`,
    `{"action": "cancel"}`.

    Raises:
        PlanError: the change that it asks for does not fit the plan.
    """
    if isinstance(answer, bool):
        return Decision("approve" if answer else "reject", plan)
    if isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], Mapping):
        answer = answer[0]  # as Studio's inbox sends it
    if isinstance(answer, Mapping):
        return _of_mapping(answer, plan)
    if isinstance(answer, list):
        return Decision("edit", as_edited(plan, as_meant({"steps": answer}, plan)))
    return _of_words(str(answer), plan)


def _of_words(text: str, plan: Plan) -> Decision:
    said = text.strip()
    if said.startswith("{"):
        try:
            answer = json.loads(said)
        except ValueError as error:
            raise PlanError(f"The answer begins like JSON and is none: {error}.") from None
        return _of_mapping(answer, plan)
    word = said.lower().rstrip(".!")
    if word in _APPROVE:
        return Decision("approve", plan)
    if word in _CANCEL:
        return Decision("cancel", plan)
    if match := _EDIT_LINE.match(said):
        change = StepChange(step=int(match[1]), text=match[2].strip())
        return Decision("edit", changed_step(plan, change))
    rejected = _REJECT_LINE.match(said)
    return Decision("reject", plan, rejected[1].strip() if rejected else said)


def _of_mapping(answer: Mapping[str, Any], plan: Plan) -> Decision:
    given = answer.get("action") or answer.get("type") or answer.get("decision")
    action = str(given or ("edit" if _has_change(answer) else "")).lower()
    if action in _EDIT:
        return Decision("edit", _edited(answer, plan))
    if action in _APPROVE and given:
        return Decision("approve", plan)
    if action in _CANCEL:
        return Decision("cancel", plan)
    if action in _REJECT:
        reason = answer.get("reason") or answer.get("args") or answer.get("message") or ""
        return Decision("reject", plan, str(reason))
    raise PlanError(
        "An answer to a plan has an `action`: `approve`, `edit` (with `plan`, `steps`, or `step` "
        "and `text`), `reject` (with a `reason`) or `cancel`."
    )


def _has_change(answer: Mapping[str, Any]) -> bool:
    return any(name in answer for name in ("plan", "steps", "step", "step_index"))


def _edited(answer: Mapping[str, Any], plan: Plan) -> Plan:
    inner = answer.get("plan") or answer.get("args")
    given: Mapping[str, Any] = inner if isinstance(inner, Mapping) else answer
    if isinstance(given.get("steps"), list):
        kept = {name: given[name] for name in ("id", "title", "steps") if name in given}
        return as_edited(plan, {**as_meant(kept, plan), "id": plan["id"]})
    place = given.get("step", given.get("step_index"))
    if not isinstance(place, int):
        raise PlanError("An edit needs the whole `plan`, all `steps`, or a `step` and its `text`.")
    fields = ("text", "executor", "status", "notes", "depends_on")
    change: Any = {name: given[name] for name in fields if name in given}
    change["step"] = place
    return changed_step(plan, change)
