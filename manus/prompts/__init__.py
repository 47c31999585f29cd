"""Texts for models and people, and pure functions that fill them in."""

from __future__ import annotations

import re
from string import Template

_PLACEHOLDER = re.compile(r"\$(?:\$|(?:workspace|place)\b|\{(?:workspace|place)\})")


def render(text: str, **values: object) -> str:
    """Return a text with each `$name` replaced by its value; write a literal `$` as `$$`.

    Raises:
        KeyError: the text names a variable that has no value.
        ValueError: the text contains a single `$` without a name.
    """
    return Template(text).substitute({name: str(value) for name, value in values.items()})


def escape_dollars(text: str) -> str:
    """Return a system prompt in which each `$` that does not start a variable is literal."""
    parts: list[str] = []
    end = 0
    for match in _PLACEHOLDER.finditer(text):
        parts += [text[end : match.start()].replace("$", "$$"), match[0]]
        end = match.end()
    return "".join([*parts, text[end:].replace("$", "$$")])
