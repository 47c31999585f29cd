"""Load the user's own tools, named as `MODULE:NAME` in the configuration; wrap functions as tools.

The model sees a function's name, docstring and type hints.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from manus.state.errors import SettingsError

_WRAPPING = threading.Lock()
"""Held while LangChain builds a tool: it changes the process's filters of warnings meanwhile, and
runs that start in several threads would undo each other's."""


def is_user_tool(name: str) -> bool:
    """Return whether a name has the form `MODULE:NAME` of a user's object."""
    return ":" in name


def load_user_tool(name: str) -> Any:
    """Return the object that `MODULE:NAME` refers to. Blocking.

    The working directory is on the search path only during this import, since a run may write there
    and later imports must not come from it.

    Raises:
        SettingsError: the module cannot be imported, or lacks the name.
    """
    module, _, attribute = name.partition(":")
    if not (module.replace(".", "_").isidentifier() and attribute.isidentifier()):
        raise SettingsError(f"`{name}` is incomplete; write it as `my_module:my_function`.")
    directory = os.getcwd()  # noqa: PTH109 - the module search path contains strings
    try:
        with _search_path(directory):
            return getattr(importlib.import_module(module), attribute)
    except Exception as error:  # the user's module may raise anything
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise SettingsError(
            f"`{name}` cannot be used ({reason}); modules are also searched for in {directory}."
        ) from error


@contextlib.contextmanager
def _search_path(folder: str) -> Iterator[None]:
    """Append a folder to the module search path for the length of a block."""
    if folder in sys.path or "" in sys.path:
        yield
        return
    sys.path.append(folder)  # at the end, so that a file there never shadows a package
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # the module itself may have removed it
            sys.path.remove(folder)


def tool_from_function(function: Callable[..., Any]) -> BaseTool:
    """Wrap a function, plain or `async`, as a tool.

    Its docstring is the description, and the `Args:` section of a Google-style docstring describes
    the arguments. Each argument needs a type hint that JSON schema can express.

    Raises:
        SettingsError: the function cannot be a tool; the message gives the reason.
    """
    try:
        with _WRAPPING:
            tool = _wrap(function)
    except Exception as error:  # LangChain may raise anything for the user's types
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise SettingsError(f"`{function.__name__}` cannot be a tool: {reason}.") from error
    return tool


def _wrap(function: Callable[..., Any]) -> BaseTool:
    tool: BaseTool = as_tool(function)
    if "Args:" in (inspect.getdoc(function) or ""):
        with contextlib.suppress(ValueError):  # another format: keep the docstring unchanged
            tool = as_tool(parse_docstring=True)(function)
    convert_to_openai_tool(tool)
    return tool
