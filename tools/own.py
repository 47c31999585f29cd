"""Things of the user's own, named in the configuration as `MODULE:NAME`. All of it is blocking."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from types import ModuleType
from typing import Any

from manus.state.errors import SettingsError


def is_own(name: str) -> bool:
    """Whether a name means something of the user's own."""
    return ":" in name


def load_own(name: str) -> Any:
    """What `MODULE:NAME` names; the module is looked for in the working directory too.

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
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{place}.".startswith(f"{error.name}."):
            raise SettingsError(
                f"`{name}`: there is no module `{place}`, neither installed nor in {here}."
            ) from None
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise SettingsError(
            f"`{name}` cannot be used: its module fails when it is imported ({said})."
        ) from error
