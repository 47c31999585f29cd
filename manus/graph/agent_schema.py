"""State schemas of the agent graph, with the keys of the caller and of middleware."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired, Required, cast, get_args, get_origin, get_type_hints

from typing_extensions import TypedDict

from manus.state.agent import AgentState

Side = Literal["state", "input", "output"]
_DISPLAY_KEYS = {"todos", "files"}
"""Keys that are derived for chat UIs unless the caller has channels with these names."""


def extend_schema(schema: type[Any], hints: Mapping[str, Any]) -> type[Any]:
    """Return a state schema with the keys of another one that the agent does not have."""
    if not hints:
        return schema
    existing = set(get_type_hints(AgentState)) - _DISPLAY_KEYS
    keys = get_type_hints(schema, include_extras=True)
    keys |= {name: hint for name, hint in hints.items() if name not in existing}
    extended: type[Any] = cast(Any, TypedDict)(schema.__name__, keys, total=False)
    extended.__doc__ = schema.__doc__
    return extended


def list_keys(schemas: Sequence[type[Any] | None]) -> dict[Side, dict[str, Any]]:
    """Return the keys that state schemas add to state, input and output, with their types.

    Later schemas override earlier ones. Keys that LangChain's `PrivateStateAttr` and the like mark
    are omitted from input and output.
    """
    keys: dict[Side, dict[str, Any]] = {"state": {}, "input": {}, "output": {}}
    for schema in schemas:
        hints = {} if schema is None else get_type_hints(schema, include_extras=True)
        for name, hint in hints.items():
            marks = [*_find_marks(hint)]
            keys["state"][name] = hint
            for side in ("input", "output"):
                keys[side].pop(name, None)
                if not any(getattr(mark, side) for mark in marks):
                    keys[side][name] = hint
    return keys


def _find_marks(hint: Any) -> Iterator[Any]:
    """Yield the marks of a private key, inside `NotRequired` or outside."""
    for metadata in getattr(hint, "__metadata__", ()):
        # by name: `langchain` is an extra
        if type(metadata).__name__ == "OmitFromSchema":
            yield metadata
    if get_origin(hint) in (Required, NotRequired):
        yield from _find_marks(get_args(hint)[0])
