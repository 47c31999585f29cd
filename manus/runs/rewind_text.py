"""Describe the result of a rewind, in sentences for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from manus.prompts.formatting import clean, fit, in_words
from manus.threads.records.inbox import InboxMessage
from manus.threads.rewind import Rewound
from manus.threads.snapshots.restored_text import MAX_NAMES, describe_effects, describe_files

_TEXT_WIDTH = 60
"""Terminal cells of a message."""


def describe_rewound(result: Rewound, currency: str, *, theirs: str = "") -> Iterator[str]:
    """Yield sentences about files, effects outside the workspace, unread messages, and usage.

    `theirs`: the sentence about how to restore files that were kept.
    """
    yield from describe_files(result, theirs=theirs)
    yield from describe_effects(result.outside_effects)
    yield from describe_unread(result.unread)
    if spent := in_words(result.spent, currency):
        yield f"Usage since then still counts: {spent}."


def describe_unread(unread: Sequence[InboxMessage]) -> Iterator[str]:
    """Yield a sentence about the unread messages of a thread."""
    if not unread:
        return
    texts = [f"{fit(clean(item.text), _TEXT_WIDTH)} ({item.id})" for item in unread[:MAX_NAMES]]
    hidden = len(unread) - MAX_NAMES
    suffix = f"; and {hidden} more" if hidden > 0 else ""
    yield f"Unread messages stay, and the next run reads them: {'; '.join(texts)}{suffix}."
