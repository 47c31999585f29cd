"""Things of the user's own: named in the configuration as `MODULE:NAME`; a function as a tool.

Of a function its name, docstring and type hints are what the model is told.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from manus.state.errors import SettingsError


def is_own(name: str) -> bool:
    """Whether a name means something of the user's own."""
    return ":" in name


def load_own(name: str) -> Any:
    """Return what `MODULE:NAME` names. Blocking.

    The module is looked for in the working directory too, while it is imported and not longer: a
    run may write there, and what is imported later must not come from it.

    Raises:
        SettingsError: the module cannot be imported, or has nothing of that name.
    """
    place, _, attribute = name.partition(":")
    if not (place.replace(".", "_").isidentifier() and attribute.isidentifier()):
        raise SettingsError(f"`{name}` names nothing; write it as `my_module:my_function`.")
    here = os.getcwd()  # noqa: PTH109 - a string is what the path of modules holds
    try:
        with _searching(here):
            return getattr(importlib.import_module(place), attribute)
    except Exception as error:  # whatever the user's own module raises
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise SettingsError(
            f"`{name}` cannot be used ({said}); modules are looked for in {here}, too."
        ) from error


@contextlib.contextmanager
def _searching(folder: str) -> Iterator[None]:
    """Search a folder for modules, behind all others, for the length of a block."""
    if folder in sys.path or "" in sys.path:
        yield
        return
    sys.path.append(folder)  # at the end: a file there never takes the place of a package
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # the module has taken it out itself
            sys.path.remove(folder)


def from_function(function: Callable[..., Any]) -> BaseTool:
    """The tool that a function is, plain or `async`.

    Its docstring describes it to the model, and the `Args:` section of a docstring in Google's
    style describes its arguments. Each argument needs a type hint that JSON can express.

    Raises:
        SettingsError: it cannot be a tool; the message says what it lacks.
    """
    try:
        made: BaseTool = as_tool(function)
        if "Args:" in (inspect.getdoc(function) or ""):
            with contextlib.suppress(ValueError):  # a section of another form stays as it is
                made = as_tool(parse_docstring=True)(function)
        convert_to_openai_tool(made)
    except Exception as error:  # whatever LangChain makes of the user's own types
        said = str(error).strip().partition("\n")[0].rstrip(".")
        raise SettingsError(f"`{function.__name__}` cannot be a tool: {said}.") from error
    return made
