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
_SECTION = re.compile(r"^\s*Args:\s*$", re.MULTILINE)
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
    if name == "<lambda>":
        raise SettingsError("A `lambda` cannot be a tool: it has no name; write it with `def`.")
    check_name(name, f"The function `{name}`")
    if not inspect.getdoc(function):
        raise _cannot(
            name, "it has no docstring, from which the model learns what it does and when to use it"
        )
    _check_arguments(function)
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


def _check_arguments(function: Callable[..., Any]) -> None:
    hints = _hints(function)
    for argument in inspect.signature(function).parameters.values():
        shown = f"its argument `{argument.name}`"
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            raise _cannot(
                function.__name__, f"{shown} stands for any number of arguments; name each of them"
            )
        if argument.kind is argument.POSITIONAL_ONLY:
            raise _cannot(function.__name__, f"{shown} cannot be given by its name; leave out `/`")
        if argument.name in _TAKEN and hints.get(argument.name) is not RunnableConfig:
            raise _cannot(function.__name__, f"{shown} has a name that LangChain uses itself")
        if argument.name not in hints:
            raise _cannot(
                function.__name__,
                f"{shown} has no type hint; write for example `{argument.name}: str`",
            )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise _cannot(function.__name__, f"its type hints cannot be read ({said})") from error


def _made(function: Callable[..., Any]) -> BaseTool:
    if _SECTION.search(inspect.getdoc(function) or ""):
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
