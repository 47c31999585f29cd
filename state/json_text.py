"""JSON from outside, read without being led into endless nesting."""

from __future__ import annotations

import json
import re
from typing import Any

DEEPEST = 64
"""Levels of lists and objects within each other that are read."""
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def read_json(text: str, *, strict: bool = False) -> Any:
    """The value that a text of JSON holds. Line ends within strings are taken unless `strict`.

    Raises:
        ValueError: it is no JSON, or nested deeper than `DEEPEST`.
    """
    if is_too_deep(text):
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    return json.loads(text, strict=strict)


def is_too_deep(text: str) -> bool:
    """Whether lists and objects are nested deeper than is read."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for part in _PART.finditer(text):
        if part[0] in "[{":
            depth += 1
            if depth > DEEPEST:
                return True
        elif part[0] in "]}":
            depth -= 1
    return False
