"""What is said of the arguments of a call that do not fit."""

from __future__ import annotations

import difflib
import re
import reprlib
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

_SHOWN = 10
"""Problems named at most."""


def explain_arguments(tool: BaseTool, error: ValidationError) -> str:
    """What was wrong with the arguments of a call, one line each, and what the tool takes."""
    taken = cast("type[BaseModel]", tool.tool_call_schema)  # without what is injected
    problems = [_problem(details, taken) for details in error.errors(include_url=False)[:_SHOWN]]
    if len(problems) == 1 and problems[0].endswith("?"):  # it says already what would be right
        return f"The arguments do not fit `{tool.name}`: {problems[0]}"
    wrong = "\n".join(f"- {problem}" for problem in problems)
    return f"The arguments do not fit `{tool.name}`:\n{wrong}\nIt takes: {_names(taken)}."


def _problem(details: ErrorDetails, taken: type[BaseModel]) -> str:
    """One of them in pydantic's words, and which name or choice may have been meant."""
    where, given = details["loc"], details["input"]
    known: list[str] = []
    place = f"`{'.'.join(map(str, where)) or 'arguments'}`"
    said = f"{place}: {details['msg']}"
    if details["type"] == "extra_forbidden":
        given, known = where[-1], list(taken.model_fields)
    elif details["type"] != "missing":
        said += f" (got {reprlib.repr(given)})"
    if details["type"] == "literal_error":
        known = re.findall(r"\w+", details["ctx"]["expected"])
    word = str(given)[:60].lower()
    near = [name for name in known if name.startswith(f"{word}_")]
    if details["type"] == "extra_forbidden":
        near += [name for name in known if name.endswith(f"_{word}")]
    near += difflib.get_close_matches(word, known, n=1, cutoff=0.75)
    if near and details["type"] == "literal_error":  # all choices are in the schema
        said = f"{place}: there is no {reprlib.repr(given)}"
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
