"""Describe the result of a rewind, in sentences for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator

from manus.execution.snapshots.restored_text import MAX_NAMES, describe_files
from manus.prompts.formatting import clean, fit, in_words
from manus.runs.rewind import Rewound

_EFFECT_WIDTH = 100
"""Terminal cells of a listed effect."""


def describe_rewound(result: Rewound, currency: str, *, theirs: str = "") -> Iterator[str]:
    """Yield sentences about files, effects outside the workspace, and what was spent.

    `theirs`: the sentence that says how to restore files that were kept.
    """
    yield from describe_files(result, theirs=theirs)
    yield from describe_effects(result)
    if spent := in_words(result.spent, currency):
        yield f"What was spent since stays spent: {spent}."


def describe_effects(result: Rewound) -> Iterator[str]:
    """Yield a sentence about the effects of calls that were not taken back."""
    if not result.outside_effects:
        return
    effects = [fit(clean(str(effect)), _EFFECT_WIDTH) for effect in result.outside_effects]
    names = "; ".join(effects[:MAX_NAMES])
    hidden = len(effects) - MAX_NAMES
    more = f"; and {hidden} more" if hidden > 0 else ""
    yield f"Not taken back, because it is outside the workspace: {names}{more}."
