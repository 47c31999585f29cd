"""Ask an editor for the answers to a run's questions."""

from __future__ import annotations

from typing import Any

from acp import Client, helpers, schema
from langgraph.types import Interrupt

from manus.graph.outcome import get_subject

_SCOPES: dict[str, tuple[str, schema.PermissionOptionKind]] = {
    "yes": ("Yes", "allow_once"),
    "run": ("Yes, for this run", "allow_always"),
    "always": ("Always in this folder", "allow_always"),
    "web": ("Whatever this run sends, anywhere", "allow_always"),
    "no": ("No", "reject_once"),
}
_CHOICES = ("approve", "plan")
"""Kinds of questions that are answered by a choice; others need words."""


def has_choices(question: Interrupt) -> bool:
    """Return whether a question is answered by a choice, not by words."""
    return isinstance(question.value, dict) and question.value.get("kind") in _CHOICES


async def ask(
    client: Client, session_id: str, question: Interrupt, calls: dict[str, schema.ToolCallStart]
) -> str | None:
    """Return the person's answer to a question; None if the editor cancelled it.

    `calls` are the calls that the editor already shows; the question is put to the one it is about.
    """
    value: dict[str, Any] = question.value
    names = ["yes", *value.get("scopes", ()), "no"]
    text = get_subject(question)
    call_id = _find_call(value, calls) or question.id
    answer = await choose(client, session_id, call_id, text, names)
    return decline(question) if answer == "no" else answer


def decline(question: Interrupt) -> str:
    """Return the answer that declines what a question is about."""
    return "cancel" if question.value["kind"] == "plan" else "no"


async def choose(
    client: Client, session_id: str, call_id: str, text: str, names: list[str]
) -> str | None:
    """Return which of the named options the person has chosen; None if it was cancelled.

    `text` is the question, put to a call of the editor; its first line is the title.
    """
    about = schema.ToolCallUpdate(
        tool_call_id=call_id,
        title=text.partition("\n")[0],
        status="pending",
        content=[helpers.tool_content(helpers.text_block(text))],
    )
    options = []
    for name in names:
        label, kind = _SCOPES[name]
        options.append(schema.PermissionOption(option_id=name, name=label, kind=kind))
    response = await client.request_permission(session_id, about, options)
    outcome = response.outcome
    return outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else None


def _find_call(value: dict[str, Any], calls: dict[str, schema.ToolCallStart]) -> str | None:
    for request in value.get("action_requests", ()):
        for call_id, call in reversed(calls.items()):
            if call.raw_input == request["args"] and str(call.title).startswith(request["name"]):
                return call_id
    return None
