"""What a person selected for a run, whichever way it is started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

Limits = dict[str, float]
"""Limits of a budget by the names of `manus.state.usage.Budget`."""


@dataclass(slots=True)
class RunOptions:
    """What a person chose for a run, as `run`, `flow` and `resume` take it."""

    prompt: tuple[str, ...] = ()
    thread: str | None = None
    workspace: str | None = None
    max_steps: int | None = None
    budget: tuple[Limits, ...] = ()
    profile: str | None = None
    model: str | None = None
    record: str | None = None
    or_replay: str | None = None
    approve_plan: bool = False
    approve: str | None = None
    answer: tuple[str, ...] = ()
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    chat: bool = False
    """Whether it is one of a conversation, which says itself where it works."""
    last: bool = False
    interactive: bool | None = None
    """Whether a person can be asked; None where a terminal says so."""
    files: tuple[Path, ...] = ()
    images: tuple[Path, ...] = ()
