"""Describe the result of a rewind, in sentences for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from manus.execution.snapshots.rewinding import RestoredFiles
from manus.prompts.formatting import clean, fit, in_words
from manus.runs.rewind import Rewound

_MAX_NAMES = 8
"""Names that are listed; the others are counted."""
_EFFECT_WIDTH = 100
"""Terminal cells of a listed effect."""


def describe_rewound(result: Rewound, currency: str, *, theirs: str = "") -> Iterator[str]:
    """Yield sentences about files, effects outside the workspace, and what was spent.

    `theirs`: the sentence that says how to restore files that were kept.
    """
    if not result.has_files:
        yield "Files were not restored: this machine has no record of the workspace at that step."
    yield from describe_files(result, theirs=theirs)
    yield from describe_effects(result)
    if spent := in_words(result.spent, currency):
        yield f"What was spent since stays spent: {spent}."


def describe_files(result: RestoredFiles, *, theirs: str = "") -> Iterator[str]:
    """Yield sentences about what was restored, what was kept, and why."""
    if result.restored:
        yield f"Restored: {join_names(result.restored)}."
    hint = f" {theirs}" if theirs else ""
    if result.kept:
        names = join_names(result.kept)
        yield f"Kept, because someone else has changed them since: {names}.{hint}"
    if result.in_doubt:
        names = join_names(result.in_doubt)
        yield (
            "Kept, because a call was interrupted, and either it or someone else has changed "
            f"them: {names}.{hint}"
        )
    if result.occupied:
        names = join_names(result.occupied)
        yield f"Not removed, because they contain files that are not recorded: {names}."
    for path, reason in result.failed.items():
        yield f"Not restored: {clean(path)} ({reason})."


def describe_effects(result: Rewound) -> Iterator[str]:
    """Yield a sentence about the effects of calls that were not taken back."""
    if not result.outside_effects:
        return
    effects = [fit(clean(str(effect)), _EFFECT_WIDTH) for effect in result.outside_effects]
    names = "; ".join(effects[:_MAX_NAMES])
    hidden = len(effects) - _MAX_NAMES
    more = f"; and {hidden} more" if hidden > 0 else ""
    yield f"Not taken back, because it is outside the workspace: {names}{more}."


def join_names(names: Sequence[str]) -> str:
    """Return the first names as a list, and the number of the others."""
    text = ", ".join(map(clean, names[:_MAX_NAMES]))
    hidden = len(names) - _MAX_NAMES
    return f"{text} and {hidden} more" if hidden > 0 else text
