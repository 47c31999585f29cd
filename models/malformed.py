"""Calls whose arguments are not a JSON object, told apart even when a library has mended them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall

from manus.models.json_numbers import finite, whole
from manus.state.messages import MALFORMED_AT

RAW_CALLS = "raw_calls"
"""In a reply's `additional_kwargs`: all its calls (`id`, `name`, `args` as text) as they were
sent, in order; only where one of them is malformed."""

_KINDS = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments that a text holds; nothing at all is an empty object.

    Raises:
        ValueError: it is not one JSON object; the message says what it is.
    """
    if not text.strip():
        return {}
    try:
        found = json.loads(
            text,
            strict=False,
            parse_constant=_refuse,
            parse_float=finite,
            parse_int=whole,
            object_pairs_hook=_once_each,
        )
    except RecursionError:
        raise ValueError("they are nested too deeply") from None
    except _TwiceError as error:
        raise ValueError(f"`{error}` stands there twice, with different values") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"they are not valid JSON ({error})") from None
    if not isinstance(found, dict):
        raise ValueError(f"they are {_KINDS[type(found)]}, not an object")
    return found


class _TwiceError(ValueError):
    """A name has two values: which of them is meant, only the model knows."""


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next((name for name, value in pairs if found[name] != value), None)
        if twice is not None:
            raise _TwiceError(twice)
    return found


def _refuse(constant: str) -> NoReturn:
    # Python reads NaN and Infinity; a server would refuse the history that holds them
    raise ValueError(f"they are not valid JSON ({constant} is not a JSON value)")


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return arguments_of(text)
    except ValueError:
        return None


def told_apart(calls: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What goes into `additional_kwargs` of a reply with these calls."""
    whole = all(_parsed(call["args"]) is not None for call in calls)
    return {} if whole else {RAW_CALLS: list(calls)}


def with_malformed(message: AIMessage) -> AIMessage:
    """The reply with its malformed calls among the invalid ones, and their places noted.

    LangChain completes arguments that a stream broke off (`{"command": "rm -rf /tmp/a` becomes a
    whole call): such a call must never be carried out.
    """
    raw = message.additional_kwargs.pop(RAW_CALLS, None)
    return message if raw is None else with_calls(message, raw)


def with_calls(message: AIMessage, raw: Sequence[dict[str, Any]]) -> AIMessage:
    """The message with these calls (`id`, `name`, `args` as text) as its only ones."""
    places = []
    message.tool_calls, message.invalid_tool_calls = [], []
    for place, call in enumerate(raw):
        arguments = _parsed(call["args"])
        id_, name, args = call["id"], call["name"] or "", call["args"]
        if arguments is not None:
            message.tool_calls.append(ToolCall(id=id_, name=name, args=arguments, type="tool_call"))
            continue
        places.append(place)
        message.invalid_tool_calls.append(
            InvalidToolCall(id=id_, name=name, args=args, error=None, type="invalid_tool_call")
        )
    if places:
        message.additional_kwargs[MALFORMED_AT] = places
    return message


def as_sent(call: ToolCall | InvalidToolCall | dict[str, Any]) -> dict[str, Any]:
    """A call (`id`, `name`, `args` as text) in the form in which `with_calls` takes it."""
    arguments = call["args"] or ""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call["id"], "name": call["name"], "args": text}
