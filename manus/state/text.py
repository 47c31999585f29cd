"""Sanitize, shorten and parse texts of any origin."""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 64
"""Maximum nesting of lists and objects in JSON."""


def sanitize(text: str) -> str:
    """Return the text without characters that JSON, UTF-8 or Postgres reject.

    Surrogate pairs are joined, lone surrogates become U+FFFD, and NUL becomes its symbol ␀.
    """
    text = text.replace("\0", "\u2400")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def sanitize_all(value: Any) -> Any:
    """Return a JSON-like value with each text in it sanitized."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list | tuple):
        return type(value)(sanitize_all(item) for item in value)
    if isinstance(value, dict):
        return {sanitize_all(key): sanitize_all(item) for key, item in value.items()}
    return value


def flat(text: str) -> str:
    """Return the text on one line, with single spaces."""
    return " ".join(text.split())


def shorten(text: str, limit: int | None) -> str:
    """Return the text, shortened to `limit` characters with an ellipsis."""
    if limit is None or len(text) <= limit:
        return text
    return text[: limit - 1].rstrip() + "…"


def one_line(text: str, limit: int) -> str:
    """Return the text on one line of at most `limit` characters."""
    return shorten(flat(text), limit)


def read_json(text: str, **options: Any) -> Any:
    """Return the value of a JSON text, which may have line breaks within strings.

    `options` are those of `json.loads`.

    Raises:
        ValueError: the text is not JSON, or nested deeper than `MAX_DEPTH`.
    """
    try:
        value = json.loads(text, strict=False, **options)
        is_too_deep = _depth(value) > MAX_DEPTH
    except RecursionError:
        is_too_deep = True
    if is_too_deep:
        raise ValueError(f"they are nested more than {MAX_DEPTH} deep")
    return value


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return 0
    return 1 + max(map(_depth, value), default=0)
