"""Reasons for which a store refuses to copy a thread or to delete a run."""

from __future__ import annotations


def explain_existing(thread_id: str) -> str:
    """Return why a thread cannot be copied there."""
    return f"The thread {thread_id} already exists; copy to a new one."


def explain_needed(thread_id: str) -> str:
    """Return why a run cannot be deleted."""
    return (
        f"A run cannot be deleted because a later run on the thread {thread_id} needs its "
        "messages; delete that run too, or the whole thread."
    )
