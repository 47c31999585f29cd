"""The tool calls of a reply: those whose arguments can be read, and those that are malformed.

LangChain completes arguments that end too soon (`{"command": "rm -rf /tmp/a` becomes a whole call);
such a call must never be carried out. Three things are repaired, each only in one reading: a code
fence around the arguments, JSON inside a text, Python's notation. Whatever else is wrong the model
is told, and calls again.
"""

from __future__ import annotations

import ast
import json
import logging
import math
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall

from manus.state.messages import (
    CUT_OFF,
    MALFORMED_AT,
    calls_of,
    ended_at_limit,
    has_calls,
    is_cut_off,
    reason_of,
)
from manus.state.text import read_json

log = logging.getLogger("manus")

MOST_ARGUMENTS = 1_000_000
"""Characters of the arguments of one call."""

_LEAST = -(2**63)
_MOST = 2**64 - 1
"""Whole numbers that a checkpoint and a server can hold."""
_FENCE = re.compile(r"^```[a-zA-Z0-9]*\s*\n(.*)\n?```$", re.DOTALL)


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments that a text holds; nothing at all is an empty object.

    Raises:
        ValueError: it is not one JSON object; the message says what is wrong with it.
    """
    try:
        found = _json(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise ValueError(f"they are not valid JSON ({error})") from None
    if not isinstance(found, dict):
        raise ValueError("they are not an object")
    return found


def _json(text: str) -> Any:
    if len(text) > MOST_ARGUMENTS:
        raise ValueError(f"they are longer than {MOST_ARGUMENTS:,} characters")
    return read_json(
        text,
        parse_constant=_finite,
        parse_float=_finite,
        parse_int=_whole,
        object_pairs_hook=_once_each,
    )


def _finite(digits: str) -> float:
    # Python reads NaN and Infinity; a server would refuse the history that holds them
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits[:30]} is not a number in JSON, or too large")
    return number


def _whole(digits: str) -> int:
    if not _LEAST <= (number := int(digits)) <= _MOST:
        raise ValueError(f"the number {digits[:30]}… is too large")
    return number


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    twice = next((name for name, value in pairs if found[name] != value), None)
    if twice is not None:  # which of the values is meant, only the model knows
        raise ValueError(f"`{twice}` stands there twice, with different values")
    return found


def parsed(text: str) -> dict[str, Any] | None:
    """The arguments that a text holds; None where it is not one JSON object."""
    try:
        return arguments_of(text)
    except ValueError:
        return None


def with_calls(message: AIMessage, raw: Sequence[dict[str, Any]]) -> AIMessage:
    """The message with these calls (`id`, `name`, `args` as text) as its only ones."""
    message.tool_calls = []
    message.invalid_tool_calls = []
    places = []
    for place, call in enumerate(raw):
        id_ = call["id"]
        name = call["name"] or ""
        args = call["args"]
        if (read := parsed(args)) is not None:
            message.tool_calls.append(ToolCall(id=id_, name=name, args=read, type="tool_call"))
            continue
        places.append(place)
        message.invalid_tool_calls.append(
            InvalidToolCall(id=id_, name=name, args=args, error=None, type="invalid_tool_call")
        )
    message.additional_kwargs.pop(MALFORMED_AT, None)
    if places:
        message.additional_kwargs[MALFORMED_AT] = places
    return message


def as_sent(call: ToolCall | InvalidToolCall) -> dict[str, Any]:
    """A call (`id`, `name`, `args` as text) in the form in which `with_calls` takes it."""
    arguments = call["args"] or ""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call["id"], "name": call["name"], "args": text}


def with_cut_off_calls(
    message: AIMessage, *, as_it_came: bool, reports_end: bool = True
) -> AIMessage:
    """Return the reply with the calls that may lack their end among the malformed ones.

    `as_it_came`: the text of the calls is known as it was sent. Of other providers' only what
    LangChain completed is left, so that no call of a cut-off reply can be trusted. Where a provider
    is known to say why a reply ended (`reports_end`), one that does not was cut off; where it is
    not, a call that was parsed completely is a call.
    """
    silent = reports_end and not as_it_came and not reason_of(message)
    if silent and has_calls(message):
        message.additional_kwargs[CUT_OFF] = True
    is_limited = ended_at_limit(message) if as_it_came else is_cut_off(message)
    if not (has_calls(message) and is_limited):
        return message
    calls = [as_sent(call) for call in calls_of(message)]
    # arguments that had not begun to come are no arguments, and look whole
    doubtful = [c for c in calls[-1:] if c["args"] in ("", "{}")] if as_it_came else calls
    for call in doubtful:
        if parsed(call["args"]) is not None:
            call["args"] = (call["args"] or "{}")[:-1]
    return with_calls(message, calls) if doubtful else message


def with_repairs(message: AIMessage) -> AIMessage:
    """The reply with its calls repaired; of a reply that was cut off none is."""
    if not message.invalid_tool_calls or is_cut_off(message):
        return message
    calls = [as_sent(call) for call in calls_of(message)]
    for call in calls:
        if parsed(call["args"]) is None and (read := read_arguments(call["args"])) is not None:
            log.info("the arguments of a call of %s were repaired", call["name"])
            call["args"] = json.dumps(read)
    return with_calls(message, calls)


def read_arguments(text: str) -> dict[str, Any] | None:
    """The arguments that a text means which is not a JSON object; None where that is not plain."""
    bare = text.strip()
    if fenced := _FENCE.match(bare):
        bare = fenced[1].strip()
    for read in (_json, _in_text, _python):
        try:
            found = read(bare)
            if isinstance(found, str):
                found = _json(found)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, dict) and all(isinstance(name, str) for name in found):
            return found
    return None


def _in_text(text: str) -> Any:
    """One object with words around it, none of which can be more arguments."""
    begin = text.find("{")
    end = text.rfind("}") + 1
    around = text[:begin] + text[end:]
    if begin < 0 or any(sign in around for sign in "{}[]:,"):
        raise ValueError(text)
    return _json(text[begin:end])


def _python(text: str) -> Any:
    if len(text) > MOST_ARGUMENTS:
        raise ValueError(text)
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            names = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if len(set(names)) < len(node.keys) or not all(isinstance(n, str) for n in names):
                raise ValueError(text)
    return _json(json.dumps(ast.literal_eval(tree)))  # as JSON has it, or not at all
