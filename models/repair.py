"""Repairing a model's tool calls where only one reading of them exists.

What can be read in two ways, and what was cut off, is left as it is: the model is told and calls
again. A repaired call stands in the history in its right form, with a note in `additional_kwargs`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, ToolCall

from manus.models.json_numbers import is_storable
from manus.models.malformed import as_sent
from manus.models.repair_arguments import fitted
from manus.models.repair_names import meant
from manus.models.repair_text import NotOneReading, read_arguments
from manus.models.replies import CUT_OFF, ended_at_limit
from manus.state.messages import MALFORMED_AT, calls_of

log = logging.getLogger("manus")

REPAIRED = "repaired"
"""In a message's `additional_kwargs`: what was repaired, a list of sentences by call id; by
`unnamed` until a call without one has got it."""

Schema = Mapping[str, Any]


def is_cut_off(message: AIMessage) -> bool:
    """Whether a reply ended at its length limit, or without saying why."""
    return ended_at_limit(message) or bool(message.additional_kwargs.get(CUT_OFF))


def with_repairs(message: AIMessage, tools: Sequence[Schema]) -> AIMessage:
    """The reply with its calls repaired; `tools` as they were offered (OpenAI's form).

    The calls keep their order. Of a reply that was cut off no malformed call is repaired.
    """
    calls = calls_of(message)
    schemas = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in tools}
    if not calls or not schemas:
        return message
    cut_off = is_cut_off(message)
    good: list[ToolCall] = []
    bad, places = [], []
    notes: dict[str, list[str]] = {}
    for place, call in enumerate(calls):
        repaired, said = repaired_call(call, schemas, cut_off=cut_off)
        if repaired is None:
            bad.append({**call, "args": as_sent(call)["args"]})
            places.append(place)
            continue
        good.append(repaired)
        if said:
            notes[repaired["id"] or unnamed(place)] = said
            log.info("call of %s repaired: %s", repaired["name"], "; ".join(said))
    message.tool_calls = good
    message.invalid_tool_calls = bad  # type: ignore[assignment]
    _note(message, notes, places)
    return message


def unnamed(place: int) -> str:
    """What stands for the id of a call without one, by its place among all."""
    return f"#{place}"


def _note(message: AIMessage, notes: dict[str, list[str]], places: list[int]) -> None:
    message.additional_kwargs.pop(MALFORMED_AT, None)
    if places:
        message.additional_kwargs[MALFORMED_AT] = places
    if notes:
        before = message.additional_kwargs.get(REPAIRED, {})
        both = {id_: [*before.get(id_, ()), *notes.get(id_, ())] for id_ in {**before, **notes}}
        message.additional_kwargs[REPAIRED] = both


def repaired_call(
    call: Mapping[str, Any], schemas: Mapping[str, Schema], *, cut_off: bool = False
) -> tuple[ToolCall | None, list[str]]:
    """The call as it was meant, and what was repaired; None if its arguments cannot be read."""
    notes: list[str] = []
    given = str(call["name"] or "")
    name = meant(given, list(schemas)) or given
    if name != given:
        notes.append(f"the tool `{given}` was read as `{name}`")
    schema = schemas.get(name, {})
    args = call["args"]
    if not isinstance(args, dict):
        if cut_off:
            return None, []
        try:
            args, how = read_arguments(args or "", schema)
        except NotOneReading:
            return None, []
        notes.append(how)
    args, changes = fitted(args, schema)
    if not is_storable(args):
        return None, []
    repaired = ToolCall(id=call["id"], name=name, args=args, type="tool_call")
    return repaired, [*notes, *changes]
