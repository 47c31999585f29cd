"""Mark calls that may have effects outside the workspace, which a rewind cannot undo."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.tools import BaseTool

from manus.execution.base import AgentTool
from manus.execution.result import Observation
from manus.execution.session import Resource
from manus.execution.workspace import WORKSPACE

OUTSIDE_EFFECT = "outside_effect"
"""Marks the message of a call; the value is `True`, or `UNCERTAIN` after an interruption."""
UNCERTAIN = "uncertain"
_INVALID_ARGUMENTS = (TypeError, ValueError, LookupError, AttributeError)
"""Errors that a tool may raise in methods about unvalidated arguments."""


def may_act_outside(tool: BaseTool, args: dict[str, Any], resources: Iterable[Resource]) -> bool:
    """Return whether a call may have effects outside the workspace, regardless of its programs.

    A foreign tool may, unless it is declared to be read-only.
    """
    if isinstance(tool, AgentTool):
        try:
            is_outside = tool.acts_outside(args)
        except _INVALID_ARGUMENTS:
            is_outside = None
        if is_outside is not None:
            return is_outside
    return any(resource.write and not _is_in_workspace(resource) for resource in resources)


def _is_in_workspace(resource: Resource) -> bool:
    return f"{resource.name}/".startswith(f"{WORKSPACE}/")


def rate_effect(observation: Observation) -> bool | str:
    """Return the mark of a call that may act outside, by its result; False if it had no effect."""
    if not observation.executed:
        return False
    if not observation.failed:
        return True
    # an error without an exception or a source is about the arguments
    return UNCERTAIN if observation.error is not None or observation.source else False
