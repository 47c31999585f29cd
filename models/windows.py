"""How large a model's context window is: as set, as learned, as its package or its name says."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from manus.models.model_names import DEFAULT_MODEL, address_of, split_spec
from manus.models.providers import WINDOWS
from manus.state.errors import ContextOverflowError
from manus.state.model_settings import ModelSettings

DEFAULT = 128_000
_LEAST = 1_000
"""Tokens that a window is taken to have at least."""
_UNDER = 0.8
"""Of a request that was refused although the estimate says that it fits."""
_SAID = re.compile(r"(?:context|maximum|limit|window)[^.\n]{0,60}?\b(\d[\d,]{3,9})\b", re.I)


class Window(NamedTuple):
    """A context window in tokens."""

    size: int
    is_certain: bool
    """Whether it was set, or named by the server; else it is told from the model's name."""


# What servers have said, by address and model: the same for every run of the process.
_learned: dict[tuple[str, str], Window] = {}


def window_of(settings: ModelSettings, model: Any = None) -> Window:
    """The context window of an endpoint; `model` is its chat model, if there is one yet."""
    learned = _learned.get(_key(settings))
    if settings.context_window is not None:
        least = min(settings.context_window, learned.size if learned else settings.context_window)
        return Window(least, is_certain=True)
    if learned is not None:
        return learned
    profile = getattr(model, "profile", None) or {}
    if isinstance(size := profile.get("max_input_tokens"), int) and size >= _LEAST:
        return Window(size, is_certain=False)
    name = split_spec(settings.model or DEFAULT_MODEL)[1].rpartition("/")[2].lower()
    known = (size for begin, size in WINDOWS if name.startswith(begin))
    return Window(next(known, DEFAULT), is_certain=False)


def learn_window(settings: ModelSettings, error: ContextOverflowError, size: float) -> None:
    """Remember how large a window is whose server refused a request of about so many tokens.

    As the server named it, but less than the estimate of a request that was too large; where it
    named none, half of that.
    """
    found = _SAID.search(str(error))
    said = int(found[1].replace(",", "")) if found else 0
    if _LEAST <= said <= size:
        _learned[_key(settings)] = Window(said, is_certain=True)
    else:
        guess = _UNDER * size if said >= _LEAST else size / 2
        _learned[_key(settings)] = Window(max(round(guess), _LEAST), is_certain=False)


def forget_windows() -> None:
    """Know nothing of any server: for tests, whose servers follow one another at one address."""
    _learned.clear()


def _key(settings: ModelSettings) -> tuple[str, str]:
    return address_of(settings), settings.model or DEFAULT_MODEL
