"""Describe in sentences what a rewind did to files, and which effects it did not undo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from manus.prompts.formatting import MAX_NAMES, clean, fit, join_names
from manus.threads.snapshots.rewinding import RestoredFiles

_EFFECT_WIDTH = 100
"""Maximum width of a listed effect in terminal cells."""


def describe_files(result: RestoredFiles, *, theirs: str = "") -> Iterator[str]:
    """Yield sentences about what was restored, what was kept, and why.

    `theirs`: a sentence on how to restore files that were kept.
    """
    if not result.has_files:
        yield "Files were not restored: this machine has no record of the workspace at that step."
    if result.restored:
        yield f"Restored: {join_names(_without_parents(result.restored))}."
    hint = f" {theirs}" if theirs else ""
    if result.kept:
        names = join_names(result.kept)
        yield f"Kept, because someone else has changed them since: {names}.{hint}"
    if result.in_doubt:
        names = join_names(result.in_doubt)
        yield (f"Kept, because it is not known who has changed them: {names}.{hint}")
    if result.occupied:
        names = join_names(result.occupied)
        yield f"Not removed, because they contain files that are not recorded: {names}."
    for path, reason in result.failed.items():
        yield f"Not restored: {clean(path)} ({reason})."


def describe_unrecorded(names: Sequence[str]) -> str:
    """Return a sentence about changed files that a rewind cannot restore."""
    return f"Changed, but not recorded, so a rewind cannot restore it: {join_names(names)}."


def describe_deleted(names: Sequence[str], thread_id: str) -> str:
    """Return a sentence about files that a run has deleted, with the command to restore them."""
    return (
        f"Deleted by the run: {join_names(names)}. `manus history {thread_id}` lists the steps, "
        f"and `manus rewind {thread_id} --to STEP` brings them back."
    )


def describe_effects(outside_effects: Sequence[object]) -> Iterator[str]:
    """Yield a sentence about the effects of calls that were not undone."""
    if not outside_effects:
        return
    effects = [fit(clean(str(effect)), _EFFECT_WIDTH) for effect in outside_effects]
    names = "; ".join(effects[:MAX_NAMES])
    hidden = len(effects) - MAX_NAMES
    more = f"; and {hidden} more" if hidden > 0 else ""
    yield f"Not taken back, because it is outside the workspace: {names}{more}."


def _without_parents(names: Sequence[str]) -> list[str]:
    """Return the names except folders whose contents are listed."""
    parents = {str(parent) for name in names for parent in PurePosixPath(name).parents}
    return [name for name in names if name not in parents]
