"""The model's reply, made ready for the history."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from manus.models.reasoning import drop_sealed, follow
from manus.state.agent import Run
from manus.state.context import ToolChoice
from manus.state.messages import MALFORMED_AT, call_ids, calls_of, has_calls, text_of

_ABOUT = ("finish_reason", "model_name", "output_version", "model_provider")


def prepared(
    message: AIMessage, history: Sequence[AnyMessage], run: Run, tool_choice: ToolChoice
) -> AIMessage:
    """The reply as it goes into the history: its id and those of its calls are unique there.

    Servers leave call ids out or number them anew in each reply; a tool message could then not be
    told to its call. The message keeps the id under which it was streamed where it has one.
    """
    own = f"{run['id']}-{run['step']}"
    if not message.id or any(m.id == message.id for m in history):
        message.id = own
    message.response_metadata = _kept(message.response_metadata, *_ABOUT)
    message.additional_kwargs = _kept(message.additional_kwargs, *message.additional_kwargs)
    if tool_choice == "none" and has_calls(message):
        return _without_calls(message)
    taken = _taken(call_ids(message), history)
    for index, call in enumerate(calls_of(message)):
        id_ = str(call["id"] or "")
        if not id_ or id_ in taken:
            call["id"] = f"{own}-{index}"
            follow(message, id_, f"{own}-{index}")
        taken.add(str(call["id"]))
    return message


def _taken(ids: Collection[str], history: Sequence[AnyMessage]) -> set[str]:
    """Those of the ids that calls in the history have."""
    return {
        str(call["id"])
        for m in history
        if isinstance(m, AIMessage)
        for call in (*m.tool_calls, *m.invalid_tool_calls)
        if call["id"] in ids
    }


def _without_calls(message: AIMessage) -> AIMessage:
    """What is left of a reply whose calls are neither carried out nor answered: its text."""
    message.content = text_of(message)
    message.tool_calls, message.invalid_tool_calls = [], []
    message.additional_kwargs.pop(MALFORMED_AT, None)
    drop_sealed(message)  # it belongs to them
    return message


def _kept(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """Of what a provider says about a reply, what is worth a place in every checkpoint."""
    return {name: values[name] for name in names if values.get(name) is not None}
