"""Texts from anywhere, as every store can hold them, as JSON, and on one line."""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 64
"""Levels of lists and objects within each other that are read."""


def sanitize(text: str) -> str:
    """The text without what JSON, UTF-8 or Postgres refuse.

    Halves of a surrogate pair are joined, lone ones become U+FFFD, and NUL becomes its picture ␀.
    """
    text = text.replace("\0", "\u2400")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def sanitize_all(value: Any) -> Any:
    """A JSON-like value with each text in it sanitized."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list | tuple):
        return type(value)(sanitize_all(item) for item in value)
    if isinstance(value, dict):
        return {sanitize_all(key): sanitize_all(item) for key, item in value.items()}
    return value


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def shorten(text: str, limit: int | None) -> str:
    """The text, cut to so many characters."""
    return text if limit is None or len(text) <= limit else text[: limit - 1].rstrip() + "…"


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most so many characters."""
    return shorten(flat(text), limit)


def read_json(text: str, **how: Any) -> Any:
    """The value that a text of JSON holds, by `json.loads`. Line ends within strings are taken.

    Raises:
        ValueError: it is no JSON, or nested deeper than `DEEPEST`.
    """
    try:
        found = json.loads(text, strict=False, **how)
        is_too_deep = _depth(found) > DEEPEST
    except RecursionError:
        is_too_deep = True
    if is_too_deep:
        raise ValueError(f"they are nested more than {DEEPEST} deep")
    return found


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, dict | list) else 0
