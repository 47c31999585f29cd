"""What was wrong with the arguments of a call, and what would be right."""

from __future__ import annotations

import difflib
import json
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_SHOWN = 10
"""Problems named at most, and the choices of one argument."""
_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def explain_arguments(tool: BaseTool, error: ValidationError) -> str:
    """What was wrong with the arguments of a call, one line each, and what would be right."""
    schema = _schema(tool)
    arguments: Mapping[str, Any] = schema.get("properties", {})
    # a union reports each of its members: one line for an argument is enough
    problems: dict[str, str] = {}
    for details in error.errors(include_url=False):
        name = str(details["loc"][0]) if details["loc"] else "arguments"
        problems.setdefault(_place(details), _problem(details, name, arguments, schema))
    lines = [f"- {line}" for line in list(problems.values())[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(f"- and {len(problems) - _SHOWN} more")
    wrong = "\n".join(lines)
    return f"The arguments do not fit `{tool.name}`:\n{wrong}\n{_takes(schema)}"


def _schema(tool: BaseTool) -> dict[str, Any]:
    """The schema of what the model is to give: without what is injected."""
    given = tool.tool_call_schema
    if isinstance(given, dict):
        return given
    return given.model_json_schema() if issubclass(given, BaseModel) else given.schema()


def _place(details: ErrorDetails) -> str:
    """Where the problem is: the argument, and the place of an item in a list of them."""
    parts = details["loc"][:1] + tuple(p for p in details["loc"][1:] if isinstance(p, int))
    return ".".join(str(part) for part in parts)


def _problem(
    details: ErrorDetails, name: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]
) -> str:
    if details["type"] == "extra_forbidden" and name not in arguments:
        return f"`{name}`: there is no such argument{_near(name, arguments)}"
    wanted = describe(arguments.get(name, {}), schema)
    if details["type"] == "missing" and len(details["loc"]) == 1:
        return f"`{name}` is missing; it must be {wanted}"
    message = details["msg"][:1].lower() + details["msg"][1:]
    if len(details["loc"]) > 1:
        inner = ".".join(str(part) for part in details["loc"])
        return f"`{name}` must be {wanted}; at `{inner}`: {message}"
    said = "" if details["type"] in _TOLD_BY_TYPE else f" ({message})"
    return f"`{name}` must be {wanted}, not {_shown(details['input'])}{said}"


# What the expected type says already.
_TOLD_BY_TYPE = frozenset(
    f"{kind}_{what}"
    for kind in ("string", "int", "float", "bool", "list", "dict")
    for what in ("type", "parsing")
) | {"literal_error", "enum"}


def _near(name: str, arguments: Iterable[str]) -> str:
    near = difflib.get_close_matches(name.lower(), list(arguments), n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def _shown(value: Any) -> str:
    if isinstance(value, str):
        more = "…" if len(value) > 60 else ""
        return f"the text {json.dumps(value[:60], ensure_ascii=False)}{more}"
    return json.dumps(value) if isinstance(value, bool | None) else reprlib.repr(value)


def _takes(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    arguments = [
        f"`{name}` ({describe(about, schema)}{'' if name in required else ', optional'})"
        for name, about in schema.get("properties", {}).items()
    ]
    return f"It takes: {', '.join(arguments)}." if arguments else "It takes no arguments."


def describe(about: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A JSON schema in a few words: `a whole number, at least 1`. `$defs` are those of `schema`."""
    if "$ref" in about:
        about = {**schema.get("$defs", {}).get(about["$ref"].rpartition("/")[2], {}), **about}
    if "const" in about:
        return json.dumps(about["const"], ensure_ascii=False)
    if "enum" in about:
        return _one_of(about["enum"])
    if members := about.get("anyOf") or about.get("oneOf"):
        words = [describe(member, schema) for member in members if member.get("type") != "null"]
        return " or ".join(dict.fromkeys(words)) or "null"
    if about.get("type") == "array":
        return f"a list{_each('item', about.get('items'), schema)}{_size(about)}"
    if about.get("type") == "object":
        fields = ", ".join(list(about.get("properties", {}))[:_SHOWN])
        each = _each("value", about.get("additionalProperties"), schema)
        return f"an object ({fields})" if fields else f"an object{each}"
    bounds = [f"{word} {about[key]}" for key, word in _BOUNDS.items() if key in about]
    return ", ".join([_WORDS.get(about.get("type", ""), "any value"), *bounds])


def _each(what: str, about: Any, schema: Mapping[str, Any]) -> str:
    return f", each {what} {describe(about, schema)}" if about and about is not True else ""


def _one_of(choices: list[Any]) -> str:
    shown = [json.dumps(choice, ensure_ascii=False) for choice in choices[: 2 * _SHOWN]]
    more = ", …" if len(choices) > len(shown) else ""
    return f"one of {', '.join(shown)}{more}"


def _size(about: Mapping[str, Any]) -> str:
    low, high = about.get("minItems"), about.get("maxItems")
    if low is not None and low == high:
        return f", {low} of them"
    words = [f"at least {low}"] * (low is not None) + [f"at most {high}"] * (high is not None)
    return f", {' and '.join(words)}" if words else ""
