"""Text that every store can hold."""

from __future__ import annotations

from typing import Any


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
    """A JSON-like value with each text in it made sanitize."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list | tuple):
        return type(value)(sanitize_all(item) for item in value)
    if isinstance(value, dict):
        return {sanitize_all(key): sanitize_all(item) for key, item in value.items()}
    return value
