"""Things of the user's own: named in the configuration as `MODULE:NAME`; a function as a tool.

Of a function its name, docstring and type hints are what the model is told.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import inspect
import os
import re
import sys
import typing
from collections.abc import Callable
from types import ModuleType
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from manus.state.errors import SettingsError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# LangChain fills these in itself: what the model gives under such a name does not arrive
_TAKEN = ("config", "run_manager", "callbacks")


def is_own(name: str) -> bool:
    """Whether a name means something of the user's own."""
    return ":" in name


def load_own(name: str) -> Any:
    """What `MODULE:NAME` names; the module is looked for in the working directory too. Blocking.

    Raises:
        SettingsError: the module cannot be imported, or has nothing of that name.
    """
    place, _, attribute = name.partition(":")
    if not (place.replace(".", "_").isidentifier() and attribute.isidentifier()):
        raise SettingsError(f"`{name}` names nothing; write it as `my_module:my_function`.")
    module = _imported(place, name)
    if not hasattr(module, attribute):
        public = [found for found in vars(module) if not found.startswith("_")]
        near = difflib.get_close_matches(attribute, public, n=1)
        hint = f"; did you mean `{place}:{near[0]}`?" if near else "."
        raise SettingsError(f"The module `{place}` has no `{attribute}`{hint}")
    return getattr(module, attribute)


def _imported(place: str, name: str) -> ModuleType:
    here = os.getcwd()  # noqa: PTH109 - a string is what the path of modules holds
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # at the end: a file there never takes the place of a package
        importlib.invalidate_caches()
    try:
        return importlib.import_module(place)
    except Exception as error:  # whatever the user's own module raises
        if isinstance(error, ModuleNotFoundError) and f"{place}.".startswith(f"{error.name}."):
            raise SettingsError(
                f"`{name}`: there is no module `{place}`, neither installed nor in {here}."
            ) from None
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise SettingsError(
            f"`{name}` cannot be used: its module fails when it is imported ({said})."
        ) from error


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
        if why := _lack(function, typing.get_type_hints(function)):
            raise _cannot(name, why)
        made = _made(function)
        convert_to_openai_tool(made)
    except SettingsError:
        raise
    except Exception as error:  # whatever LangChain makes of the user's own types
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
        if argument.kind not in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
            return f"{shown} cannot be given by its name; use neither `*` nor `/`"
        if argument.name not in hints:
            return f"{shown} has no type hint; write for example `{argument.name}: str`"
        if argument.name in _TAKEN and hints[argument.name] is not RunnableConfig:
            return f"{shown} has a name that LangChain uses itself"
    return None


def _made(function: Callable[..., Any]) -> BaseTool:
    with contextlib.suppress(ValueError):  # a section of another form stays in the description
        if "Args:" in (inspect.getdoc(function) or ""):
            described: BaseTool = as_tool(parse_docstring=True)(function)
            return described
    plain: BaseTool = as_tool(function)
    return plain


def _cannot(name: str, why: str) -> SettingsError:
    return SettingsError(f"The function `{name}` cannot be a tool: {why}.")
