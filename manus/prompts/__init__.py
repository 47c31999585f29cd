"""Texts for models and people, and pure functions that fill them in."""

from __future__ import annotations

from string import Template


def render(text: str, **values: object) -> str:
    """Return a text with each `$name` replaced by its value; write a literal `$` as `$$`.

    Raises:
        KeyError: the text names a variable that has no value.
        ValueError: a `$` stands alone.
    """
    return Template(text).substitute({name: str(value) for name, value in values.items()})
