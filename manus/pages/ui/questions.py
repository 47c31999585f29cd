"""The open questions of a run as the page shows them: buttons, and a form for changes."""

from __future__ import annotations

from typing import Any

from langgraph.types import Interrupt

from manus.pages.report.page import DECISIONS

_PLAN_CHOICES = {"yes": "Approve the plan", "cancel": "Cancel"}


def list_choices(question: Interrupt) -> dict[str, str]:
    """Return the answers offered as buttons."""
    value = question.value if isinstance(question.value, dict) else {}
    if value.get("kind") == "plan":
        return _PLAN_CHOICES
    if value.get("kind") != "approve":
        return {}
    scopes = value.get("scopes", ())
    return {word: text for word, text in DECISIONS.items() if word in ("yes", *scopes, "no")}


def build_fields(question: Interrupt) -> dict[str, Any]:
    """Return the fields of the form that changes a call or a plan; empty if there is none."""
    value = question.value if isinstance(question.value, dict) else {}
    if value.get("kind") == "plan":
        return {"steps": "\n".join(step["text"] for step in value["plan"]["steps"])}
    if (
        value.get("kind") != "approve"
        or "edit" not in value["review_configs"][0]["allowed_decisions"]
    ):
        return {}
    fields: dict[str, Any] = value["action_requests"][0]["args"]
    return fields
