"""The base of argument schemas, of which processes of a tool's own need no more than this."""

from __future__ import annotations

import json
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.fields import FieldInfo


class Arguments(BaseModel):
    """Base of argument schemas: an argument nobody knows is said to the model, not dropped.

    A list or an object that comes as JSON in a string, as some models write it, is unpacked.
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _unpack(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: _unpacked(cls.model_fields.get(name), v) for name, v in given.items()}


def _unpacked(field: FieldInfo | None, value: Any) -> Any:
    if field is None or not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    wanted = field.annotation
    kinds = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    taken = {get_origin(kind) or kind for kind in kinds}
    if taken & {str, Any} or not taken & {list, dict, tuple}:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value  # the schema says what is wrong with it
