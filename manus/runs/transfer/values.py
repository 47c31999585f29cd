"""Transform the values in checkpoints: mask secrets, remove permissions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Interrupt, Overwrite, Send

from manus.state.taint import Exposure, request_fields

_PERMISSIONS: dict[str, Any] = {
    "approved": [],
    "named": [],
    "mentioned": [],
    "outside": True,
}
"""Keys of the state, and of the input of a call, with their values in an imported thread."""
_ARGUMENTS = {"args"}
"""Keys of arguments of a call, whose names are those of its tool."""
_LOCAL: dict[str, Any] = {"snapshot": ""}
"""Keys that have a meaning only on the exporting machine."""

TextChange = Callable[[str], str]


def map_texts(value: Any, change: TextChange) -> Any:
    """Return a value with each text in it changed; values of unknown types stay unchanged."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, BaseMessage):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return value.model_copy(update={n: map_texts(v, change) for n, v in fields.items()})
    return _map_parts(value, lambda part: map_texts(part, change))


def distrust(value: Any) -> Any:
    """Return an imported value without permissions: approvals, and hosts named by a user.

    Its messages are marked as untrusted text.
    """
    if isinstance(value, BaseMessage):
        marks = request_fields("", Exposure(untrusted=True, private=True))
        return value.model_copy(
            update={"additional_kwargs": {**distrust(value.additional_kwargs), **marks}}
        )
    if isinstance(value, dict):
        arguments = {name: value[name] for name in _ARGUMENTS & value.keys()}
        value = {**_map_parts(value, distrust), **arguments}
        for name, replacement in {**_PERMISSIONS, **_LOCAL}.items():
            if name in value:
                value[name] = copy.copy(replacement)
        return value
    return _map_parts(value, distrust)


def distrust_write(channel: str, value: Any) -> Any:
    """Return the write to a channel without permissions."""
    replacements = {"approved": [], **_LOCAL}
    return replacements[channel] if channel in replacements else distrust(value)


def _map_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a container with its parts changed; other values unchanged."""
    if isinstance(value, Mapping):
        return {key: change(part) for key, part in value.items()}
    if isinstance(value, list):
        return [change(part) for part in value]
    if isinstance(value, tuple):
        parts = [change(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, Overwrite):
        return Overwrite(change(value.value))
    if isinstance(value, Interrupt):
        return Interrupt(value=change(value.value), id=value.id)
    if isinstance(value, Send):
        return Send(value.node, change(value.arg), timeout=value.timeout)
    return value
