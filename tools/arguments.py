"""The arguments of a call: read as they were meant, and explained where they do not fit."""

from __future__ import annotations

import difflib
import json
import reprlib
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeGuard, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from manus.state.text import read_json

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

_FEW = 10
"""Choices that are all named to who gave none of them."""
_SHOWN = 10
"""Problems named at most, and the choices of one argument."""
_SAME = (
    ("command", "cmd"),
    ("path", "file_path", "filepath", "file_name", "filename", "file"),
    ("query", "q", "search_query"),
    ("code", "python_code", "script"),
    ("url", "link", "href"),
    ("text", "content"),
    ("file_text", "content", "text"),
    ("old_str", "old_string", "old_text"),
    ("new_str", "new_string", "new_text"),
    ("answer", "summary", "message", "text", "output", "result"),
)
"""Names that models use for the same thing."""
_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "object": "an object",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


class Arguments(BaseModel):
    """Base of argument schemas: an argument nobody knows is said to the model, not dropped."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _tidy(cls, given: Any) -> Any:
        return tidy(cls, given) if isinstance(given, dict) else given


def tidy(schema: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments under the names of our tools, where another name can mean only one of them.

    A list or an object that comes as JSON in a string, as some models write it, is unpacked; a null
    where none may be counts as not given.
    """
    if not (isinstance(schema, type) and issubclass(schema, Arguments)):
        return given
    fields = schema.model_fields
    if all(name in fields for name in given):
        renamed = given
    else:
        renamed = {_meant(name, fields, given): value for name, value in given.items()}
    tidied = {}
    for name, value in renamed.items():
        field = fields.get(name)
        if field is not None and value is None and _cannot_be_null(field):
            continue
        if field is not None and isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            value = _unpacked(field, value)
        tidied[name] = value
    return tidied


def _cannot_be_null(field: FieldInfo) -> bool:
    """Whether a null for a field can only mean its default."""
    may_be = field.annotation is Any or type(None) in get_args(field.annotation)
    return not (may_be or field.is_required())


def _meant(name: str, fields: Iterable[str], given: Mapping[str, Any]) -> str:
    if name in fields:
        return name
    unknown = [other for other in given if other not in fields]
    free = {field for field in fields if field not in given}
    of = {group for group in _SAME if name in group}
    found = {field for group in of for field in group if field in free}
    rivals = [other for other in unknown if any(other in group for group in of)]
    return found.pop() if len(found) == 1 and rivals == [name] else name


def _unpacked(field: FieldInfo, value: str) -> Any:
    wanted = field.annotation
    kinds = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    taken = {get_origin(kind) or kind for kind in kinds}
    if taken & {str, Any} or not taken & {list, dict}:
        return value
    try:
        return read_json(value)
    except ValueError:
        return value  # the schema says what is wrong with it


def explain_arguments(tool: BaseTool, error: ValidationError) -> str:
    """What was wrong with the arguments of a call, one line each, and what would be right."""
    given = tool.tool_call_schema  # without what is injected
    schema = given.model_json_schema() if _is_model(given) else cast("dict[str, Any]", given)
    arguments: Mapping[str, Any] = schema.get("properties", {})
    # a union reports each of its members: one line for an argument is enough
    problems: dict[Any, str] = {}
    for details in error.errors(include_url=False):
        problems.setdefault(details["loc"][:2], _problem(details, arguments, schema))
    if all(details["type"] == "literal_error" for details in error.errors(include_url=False)):
        wrong = "; ".join(problems.values())
        return f"The arguments do not fit `{tool.name}`: {wrong}{'' if wrong[-1] == '?' else '.'}"
    wrong = "\n".join(f"- {problem}" for problem in list(problems.values())[:_SHOWN])
    return f"The arguments do not fit `{tool.name}`:\n{wrong}\n{_takes(schema)}"


def _is_model(given: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(given, type) and issubclass(given, BaseModel)


def _problem(details: ErrorDetails, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    name = str(details["loc"][0]) if details["loc"] else "arguments"
    if details["type"] == "extra_forbidden" and name not in arguments:
        near = difflib.get_close_matches(name.lower(), list(arguments), n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        return f"`{name}`: there is no such argument{hint}"
    about = arguments.get(name, {})
    if details["type"] == "literal_error" and (meant := _meant_choice(details["input"], about)):
        return f'`{name}` is {_shown(details["input"])}; did you mean "{meant}"?'
    wanted = describe(about, schema)
    if details["type"] == "missing" and len(details["loc"]) == 1:
        return f"`{name}` is missing; it must be {wanted}"
    message = details["msg"][:1].lower() + details["msg"][1:]
    if len(details["loc"]) > 1:
        inner = ".".join(str(part) for part in details["loc"])
        if details["type"] == "extra_forbidden":
            message = "there is no such argument"
        return f"`{name}` must be {wanted}; at `{inner}`: {message}"
    said = "" if details["type"].endswith(("_type", "_parsing", "literal_error")) else message
    return f"`{name}` must be {wanted}, not {_shown(details['input'])}{said and f' ({said})'}"


def _meant_choice(given: Any, about: Mapping[str, Any]) -> str:
    """The choice that is most like what was given; empty if none is, or if all are soon told."""
    choices = [choice for choice in about.get("enum", ()) if isinstance(choice, str)]
    if len(choices) <= _FEW:
        return ""
    word = str(given).lower()
    within = [choice for choice in choices if word in choice.split("_")]
    return next(iter(within or difflib.get_close_matches(word, choices, n=1)), "")


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
    if choices := about.get("enum", [about["const"]] if "const" in about else []):
        shown = [json.dumps(choice, ensure_ascii=False) for choice in choices[: 2 * _SHOWN]]
        listed = ", ".join(shown) + (", …" if len(choices) > len(shown) else "")
        return f"one of {listed}" if len(choices) > 1 else listed
    if members := about.get("anyOf") or about.get("oneOf"):
        words = [describe(member, schema) for member in members if member.get("type") != "null"]
        return " or ".join(dict.fromkeys(words)) or "null"
    if about.get("type") == "array":
        items = about.get("items")
        return f"a list, each item {describe(items, schema)}" if items else "a list"
    if about.get("type") == "object" and about.get("properties"):
        return f"an object ({', '.join(list(about['properties'])[: 2 * _SHOWN])})"
    if isinstance(values := about.get("additionalProperties"), dict):
        return f"an object, each value {describe(values, schema)}"
    bounds = [f"{word} {about[key]}" for key, word in _BOUNDS.items() if key in about]
    return ", ".join([_WORDS.get(about.get("type", ""), "any value"), *bounds])
