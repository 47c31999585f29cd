"""The arguments of a call: read as they were meant, and explained where they do not fit."""

from __future__ import annotations

import difflib
import re
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

_SHOWN = 10
"""Problems named at most."""
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


class Arguments(BaseModel):
    """Base of argument schemas: an argument nobody knows is said to the model, not dropped."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def tidy(cls, given: Any) -> Any:
        """Arguments under our names, where another name can mean only one of them.

        A list or an object that comes as JSON in a string, as some models write it, is unpacked; a
        null where none may be counts as not given.
        """
        if not isinstance(given, dict):
            return given
        fields = cls.model_fields
        tidied = {}
        for other, value in given.items():
            name = other if other in fields else _meant(other, fields, given)
            field = fields.get(name)
            if field is not None and value is None and _cannot_be_null(field):
                continue
            if field is not None and isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
                value = _unpacked(field, value)
            tidied[name] = value
        return tidied

    _ = model_validator(mode="before")(tidy)


def _cannot_be_null(field: FieldInfo) -> bool:
    """Whether a null for a field can only mean its default."""
    may_be = field.annotation is Any or type(None) in get_args(field.annotation)
    return not (may_be or field.is_required())


def _meant(name: str, fields: Iterable[str], given: Mapping[str, Any]) -> str:
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
    """What was wrong with the arguments of a call, one line each, and what the tool takes."""
    taken = cast("type[BaseModel]", tool.tool_call_schema)  # without what is injected
    problems = [_problem(details, taken) for details in error.errors(include_url=False)[:_SHOWN]]
    wrong = "\n".join(f"- {problem}" for problem in problems)
    return f"The arguments do not fit `{tool.name}`:\n{wrong}\nIt takes: {_names(taken)}."


def _problem(details: ErrorDetails, taken: type[BaseModel]) -> str:
    """One of them in pydantic's words, and which name or choice may have been meant."""
    where, given = details["loc"], details["input"]
    known: list[str] = []
    said = f"`{'.'.join(map(str, where)) or 'arguments'}`: {details['msg']}"
    if details["type"] == "extra_forbidden":
        given, known = where[-1], list(taken.model_fields)
    elif details["type"] != "missing":
        said += f" (got {reprlib.repr(given)})"
    if details["type"] == "literal_error":
        known = re.findall(r"\w+", details["ctx"]["expected"])
    near = difflib.get_close_matches(str(given)[:60].lower(), known, n=1)
    return f"{said}; did you mean `{near[0]}`?" if near else said


def is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    """Whether a type is a pydantic model."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _names(taken: type[BaseModel]) -> str:
    """What a schema takes, `?` at what may be left out; what an object takes behind its name."""
    named = []
    for name, field in taken.model_fields.items():
        inner = field.annotation
        of = f" ({_names(inner)})" if is_model(inner) else ""
        named.append(f"`{field.alias or name}{'' if field.is_required() else '?'}`{of}")
    return ", ".join(named) or "no arguments"
