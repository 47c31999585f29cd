"""Import what needs an optional package; one that is missing or does not fit is one sentence."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from manus.state.errors import SettingsError
from manus.state.text import one_line

_DISTRIBUTION = "manus-graph"


def import_optional(module: str, user: str, package: str, remedy: str) -> Any:
    """Return a module that needs an optional package.

    `user` is what needs it, with its verb ("MCP servers need"); `remedy` is the command.

    Raises:
        SettingsError: the package is missing, or is a version that cannot be used.
    """
    try:
        return import_module(module)
    except Exception as error:  # the code of a package that does not fit raises anything
        raise SettingsError(explain_package(user, package, remedy, error)) from error


def explain_package(user: str, package: str, remedy: str, error: Exception) -> str:
    """Return why a package cannot be used, and what to do, as a sentence."""
    try:
        installed = version(package)
    except PackageNotFoundError:
        return f"{user} the package `{package}`, which is not installed: {remedy}."
    return (
        f"{user} the package `{package}`{_wanted_version(package)}, of which {installed} is "
        f"installed and cannot be used ({one_line(str(error), 200)}): {remedy}."
    )


def _wanted_version(package: str) -> str:
    """Return the versions of a package that this one requires, for messages; empty if unknown."""
    try:
        requirements = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:  # the code is not installed
        return ""
    for requirement in requirements:
        if match := re.match(rf"{re.escape(package)}(?:\[[^]]*\])?\s*([<>=!~][^;]*)", requirement):
            return f" {match[1].strip()}"
    return ""
