"""Describe the result of a rewind, in sentences for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator

from manus.execution.snapshots.restored_text import describe_effects, describe_files
from manus.prompts.formatting import in_words
from manus.runs.rewind import Rewound


def describe_rewound(result: Rewound, currency: str, *, theirs: str = "") -> Iterator[str]:
    """Yield sentences about files, effects outside the workspace, and what was spent.

    `theirs`: the sentence that says how to restore files that were kept.
    """
    yield from describe_files(result, theirs=theirs)
    yield from describe_effects(result.outside_effects)
    if spent := in_words(result.spent, currency):
        yield f"What was spent since stays spent: {spent}."
