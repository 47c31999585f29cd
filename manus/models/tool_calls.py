"""Parse the tool calls of a reply; find malformed ones and repair them where that is unambiguous.

LangChain completes arguments that end too soon (`{"command": "rm -rf /tmp/a` becomes a complete
call); such a call must never be executed. Three things are repaired, each only if it is
unambiguous: a code fence around the arguments, JSON inside a text, Python's notation. Anything else
is reported to the model, which calls again.
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

from manus.state.messages import MALFORMED_AT, has_calls, list_calls
from manus.state.replies import CUT_OFF, ended_at_limit, get_finish_reason, is_cut_off
from manus.state.text import read_json

log = logging.getLogger("manus")

MAX_ARGUMENTS = 1_000_000
"""Characters of the arguments of one call."""

_MIN_INTEGER = -(2**63)
_MAX_INTEGER = 2**64 - 1
"""Integers that a checkpoint and a server can store."""
_FENCE = re.compile(r"^```[a-zA-Z0-9]*\s*\n(.*)\n?```$", re.DOTALL)


def parse_arguments(text: str) -> dict[str, Any]:
    """Return the arguments in a text; an empty text counts as an empty object.

    Raises:
        ValueError: the text is not one JSON object; the message states what is wrong.
    """
    if not text.strip():
        return {}
    try:
        arguments = _parse_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"they are not valid JSON ({error})") from None
    if not isinstance(arguments, dict):
        raise ValueError("they are not an object")
    return arguments


def _parse_json(text: str) -> Any:
    if len(text) > MAX_ARGUMENTS:
        raise ValueError(f"they are longer than {MAX_ARGUMENTS:,} characters")
    return read_json(text, **_json_options())


def decode_json(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value that starts there, and its end; line breaks in strings are accepted.

    Raises:
        ValueError: no value starts there, or a checkpoint could not store it.
    """
    try:
        _, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return read_json(text[start:end], **_json_options()), end


def _json_options() -> dict[str, Any]:
    return {
        "parse_constant": _parse_number,
        "parse_float": _parse_number,
        "parse_int": _parse_integer,
        "object_pairs_hook": _build_object,
    }


def _parse_number(digits: str) -> float:
    # Python accepts NaN and Infinity; a server would refuse the history that contains them
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:30]} is not a JSON number, or is too large")
    return number


def _parse_integer(digits: str) -> int:
    number = int(digits)
    if not _MIN_INTEGER <= number <= _MAX_INTEGER:
        raise ValueError(f"the number {digits[:30]}… is too large")
    return number


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as an object; raise a ValueError if a name has two values."""
    values = dict(pairs)
    for name, value in pairs:
        if values[name] != value:  # only the model knows which of the two is right
            raise ValueError(f"`{name}` is given twice, with different values")
    return values


def try_parse_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments in a text; None if it is not one JSON object."""
    try:
        return parse_arguments(text)
    except ValueError:
        return None


def with_calls(message: AIMessage, raw: Sequence[dict[str, Any]]) -> AIMessage:
    """Return the message with these calls (`id`, `name`, `args` as text) as its only ones."""
    message.tool_calls = []
    message.invalid_tool_calls = []
    malformed = []
    for index, call in enumerate(raw):
        call_id = call["id"]
        name = call["name"] or ""
        text = call["args"]
        arguments = try_parse_arguments(text)
        if arguments is None:
            malformed.append(index)
            message.invalid_tool_calls.append(
                InvalidToolCall(
                    id=call_id, name=name, args=text, error=None, type="invalid_tool_call"
                )
            )
        else:
            message.tool_calls.append(
                ToolCall(id=call_id, name=name, args=arguments, type="tool_call")
            )
    message.additional_kwargs.pop(MALFORMED_AT, None)
    if malformed:
        message.additional_kwargs[MALFORMED_AT] = malformed
    return message


def as_raw_call(call: ToolCall | InvalidToolCall) -> dict[str, Any]:
    """Return a call in the form that `with_calls` takes (`id`, `name`, `args` as text)."""
    arguments = call["args"] or ""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return {"id": call["id"], "name": call["name"], "args": arguments}


def with_cut_off_calls(
    message: AIMessage, *, has_raw_calls: bool, reports_end: bool = True
) -> AIMessage:
    """Return the reply with the calls that may be truncated among the malformed ones.

    `has_raw_calls`: the arguments are the text that the server sent. For other providers only the
    arguments that LangChain completed are known, so no call of a truncated reply can be trusted. If
    a provider always reports why a reply ended (`reports_end`), a reply without a reason was
    truncated; otherwise a call that was parsed completely counts as complete.
    """
    if not has_calls(message):
        return message
    if reports_end and not has_raw_calls and not get_finish_reason(message):
        message.additional_kwargs[CUT_OFF] = True
    is_truncated = ended_at_limit(message) if has_raw_calls else is_cut_off(message)
    if not is_truncated:
        return message
    calls = [as_raw_call(call) for call in list_calls(message)]
    doubtful_calls = calls
    if has_raw_calls:
        # only the last can be truncated; parsing finds that unless its arguments had not started
        doubtful_calls = [call for call in calls[-1:] if call["args"] in ("", "{}")]
    if not doubtful_calls:
        return message
    for call in doubtful_calls:
        if try_parse_arguments(call["args"]) is not None:
            call["args"] = (call["args"] or "{}")[:-1]
    return with_calls(message, calls)


def with_repairs(message: AIMessage) -> AIMessage:
    """Return the reply with its malformed calls repaired; a truncated reply is left unchanged."""
    if not message.invalid_tool_calls or is_cut_off(message):
        return message
    calls = [as_raw_call(call) for call in list_calls(message)]
    for call in calls:
        if try_parse_arguments(call["args"]) is not None:
            continue
        arguments = repair_arguments(call["args"])
        if arguments is not None:
            log.info("the arguments of a call of %s were repaired", call["name"])
            call["args"] = json.dumps(arguments)
    return with_calls(message, calls)


def repair_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments that malformed text means; None if it is ambiguous."""
    text = text.strip()
    fence = _FENCE.match(text)
    if fence:
        text = fence[1].strip()
    for parse in (_parse_json, _parse_json_in_text, _parse_python):
        try:
            value = parse(text)
            if isinstance(value, str):
                value = _parse_json(value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict) and all(isinstance(name, str) for name in value):
            return value
    return None


def _parse_json_in_text(text: str) -> Any:
    """Return one object surrounded by words that cannot be further arguments."""
    start = text.find("{")
    end = text.rfind("}") + 1
    surroundings = text[:start] + text[end:]
    if start < 0 or any(sign in surroundings for sign in "{}[]:,"):
        raise ValueError(text)
    return _parse_json(text[start:end])


def _parse_python(text: str) -> Any:
    """Return the value of a Python literal that JSON can express."""
    if len(text) > MAX_ARGUMENTS:
        raise ValueError(text)
    return parse_literal(ast.parse(text, mode="eval").body)


def parse_literal(expression: ast.expr) -> Any:
    """Return the value of a Python literal that JSON can express.

    Raises:
        ValueError: it is no such literal.
        TypeError: the same.
    """
    for node in ast.walk(expression):
        if isinstance(node, ast.Dict) and not _has_unique_names(node):
            raise ValueError("the names of a dict are not unique")
    # refuses what JSON cannot express
    return _parse_json(json.dumps(ast.literal_eval(expression)))


def _has_unique_names(node: ast.Dict) -> bool:
    """Return whether all keys of a dict literal are strings and each occurs once."""
    names = set()
    for key in node.keys:
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return False
        names.add(key.value)
    return len(names) == len(node.keys)
