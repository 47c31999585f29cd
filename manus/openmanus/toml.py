"""Settings as TOML text. The standard library reads TOML and does not write it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def as_toml(values: Mapping[str, Any]) -> str:
    """Nested tables of texts, numbers, truth values and lists of these."""
    return "\n".join(_table(values, ())).strip() + "\n"


def _table(values: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    own = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    if path and (own or not values):
        yield f"\n[{'.'.join(map(_key, path))}]"
    for name, value in own.items():
        yield f"{_key(name)} = {_value(value)}"
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _table(value, (*path, name))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"{type(value).__name__} cannot be written as TOML")


def _text(text: str) -> str:
    # a basic string of TOML is one of JSON, but for one control character
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
