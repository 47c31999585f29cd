"""Numbers in arguments: those that JSON can write, and that a checkpoint and a server can hold."""

from __future__ import annotations

import math
from typing import Any

_LEAST, _MOST = -(2**63), 2**64 - 1
_DIGITS = 21
_SHOWN = 30


def whole(digits: str) -> int:
    """A whole number.

    Raises:
        ValueError: it has more than 64 bits.
    """
    if len(digits) > _DIGITS or not is_storable(number := int(digits)):
        raise ValueError(f"the number {digits[:_SHOWN]}… is too large")
    return number


def finite(digits: str) -> float:
    """A number with a point or an exponent.

    Raises:
        ValueError: it is too large, and would be read as infinite, which JSON has no word for.
    """
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:_SHOWN]}… is too large")
    return number


def is_storable(value: Any) -> bool:
    """Whether all numbers in a JSON-like value can be kept and sent."""
    if isinstance(value, dict):
        return all(map(is_storable, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_storable, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or _LEAST <= value <= _MOST
