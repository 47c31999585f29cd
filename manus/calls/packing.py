"""Serialize the results of a tool other than its text for the journal."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from manus.calls.result import Observation

log = logging.getLogger("manus")

_FIELDS = ("update", "artifact", "preceding", "following", "handoff")


def pack(observation: Observation) -> str | None:
    """Serialize the parts of an observation that JSON cannot represent; None if there are none.

    Values that cannot be serialized at all are omitted, with a warning.
    """
    values = {name: getattr(observation, name) for name in _FIELDS}
    is_plain = observation.artifact is None and _is_json(observation.update)
    if is_plain and not any(values[name] for name in ("preceding", "following", "handoff")):
        return None
    storable = {name: value for name, value in values.items() if is_storable(value)}
    if unstorable := [name for name in _FIELDS if name not in storable]:
        log.warning(
            "not stored for a resume, since it cannot be serialized: %s", ", ".join(unstorable)
        )
    return pack_value(storable)


def unpack(packed: str, observation: Observation) -> Observation:
    """Return the observation with the packed values restored."""
    values = unpack_value(packed)
    for name in ("preceding", "following"):
        values[name] = tuple(values.get(name, ()))
    return replace(observation, **values)


def pack_value(value: Any) -> str:
    """Serialize a value that JSON cannot represent."""
    kind, data = JsonPlusSerializer().dumps_typed(value)
    return f"{kind}:{base64.b64encode(data).decode()}"


def unpack_value(packed: str) -> Any:
    """Return the value that `pack_value` serialized."""
    kind, _, data = packed.partition(":")
    return JsonPlusSerializer().loads_typed((kind, base64.b64decode(data)))


def is_storable(value: Any, serializer: Any = None) -> bool:
    """Return whether a checkpoint can contain a value."""
    try:
        (serializer or JsonPlusSerializer()).dumps_typed(value)
    except Exception:  # noqa: BLE001 - whatever a serializer, or the value itself, raises
        return False
    return True


def _is_json(update: Mapping[str, Any]) -> bool:
    try:
        json.dumps(dict(update))
    except (TypeError, ValueError):
        return False
    return True
