"""A plain function as a tool: its name, docstring and type hints are what the model is told."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from manus.state.errors import SettingsError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# LangChain fills these in itself: what the model gives under such a name does not arrive
_TAKEN = ("config", "run_manager", "callbacks")


@functools.lru_cache(maxsize=256)  # each run asks anew, and it takes milliseconds
def from_function(function: Callable[..., Any]) -> BaseTool:
    """The tool that a function is, plain or `async`.

    Its docstring describes it to the model, and the `Args:` section of a docstring in Google's
    style describes its arguments. Each argument needs a type hint that JSON can express.

    Raises:
        SettingsError: it cannot be a tool; the message says what it lacks.
    """
    name = function.__name__
    check_name(name, f"The function `{name}`")
    try:
        hints = typing.get_type_hints(function)
    except Exception as error:
        raise _cannot(name, f"its type hints cannot be read ({error})") from error
    if why := _lack(function, hints):
        raise _cannot(name, why)
    try:
        made = _made(function)
        convert_to_openai_tool(made)
    except Exception as error:
        said = str(error).strip().partition("\n")[0]
        raise _cannot(name, f"its arguments cannot be described to a model ({said})") from error
    return made


def check_name(name: str, whose: str) -> None:
    """Check that models' interfaces take a tool's name.

    Raises:
        SettingsError: they do not.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{whose} cannot be a tool under the name `{name}`: models know tools by up to 64 "
            "letters without accents, digits, `_` and `-`."
        )


def _lack(function: Callable[..., Any], hints: dict[str, Any]) -> str | None:
    """What keeps a model from calling a function; None if nothing does."""
    if not inspect.getdoc(function):
        return "it has no docstring, from which the model learns what it does and when to use it"
    for argument in inspect.signature(function).parameters.values():
        shown = f"its argument `{argument.name}`"
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            return f"{shown} stands for any number of arguments; name each of them"
        if argument.kind is argument.POSITIONAL_ONLY:
            return f"{shown} cannot be given by its name; leave out `/`"
        if argument.name not in hints:
            return f"{shown} has no type hint; write for example `{argument.name}: str`"
        if argument.name in _TAKEN and hints[argument.name] is not RunnableConfig:
            return f"{shown} has a name that LangChain uses itself"
    return None


def _made(function: Callable[..., Any]) -> BaseTool:
    if "Args:" in (inspect.getdoc(function) or ""):
        try:
            described: BaseTool = as_tool(parse_docstring=True)(function)
        except ValueError:
            pass  # a section of another form stays a part of the description
        else:
            return described
    plain: BaseTool = as_tool(function)
    return plain


def _cannot(name: str, why: str) -> SettingsError:
    return SettingsError(f"The function `{name}` cannot be a tool: {why}.")
