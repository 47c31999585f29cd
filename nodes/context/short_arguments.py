"""The arguments of a call, shortened for a request: they stay JSON, and a file has all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from manus.models.tokens import estimate_text
from manus.nodes.context.limits import as_text, level_of

SHORTENED = "shortened_arguments"
"""The one argument where a call has too many small ones."""
_DEEP = 20
"""Levels that are looked into."""
_NEAR = 1.2
"""What is so near to its limit is short enough."""

Cut = Callable[[str, float], str]
"""Gives a text with about so many tokens."""


def short_arguments(args: Any, limit: float, cut: Cut) -> Any:
    """The arguments with about so many tokens.

    Long texts in them are cut; where that is not enough they become one text. Those that are no
    JSON are one already.
    """
    if args is None:
        return args
    if isinstance(args, str):
        return cut(args, limit) if estimate_text(args) > limit else args
    whole = estimate_text(as_text(args))
    if whole <= limit:
        return args
    sizes = [estimate_text(text) for text in _texts(args)]
    level = level_of(sizes, max(0.0, limit - (whole - sum(sizes))))
    made = _mapped(args, lambda text: cut(text, level) if estimate_text(text) > level else text)
    if estimate_text(as_text(made)) <= _NEAR * limit:
        return made
    return {SHORTENED: cut(as_text(args), limit)}


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _DEEP:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, depth + 1)


def _mapped(value: Any, short: Callable[[str], str], depth: int = 0) -> Any:
    if isinstance(value, str):
        return short(value)
    if depth >= _DEEP:
        return value
    if isinstance(value, dict):
        return {name: _mapped(item, short, depth + 1) for name, item in value.items()}
    return [_mapped(i, short, depth + 1) for i in value] if isinstance(value, list) else value
