"""The options of a run, whether it is started by a command, the page or a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

Limits = dict[str, float]
"""Limits of a budget, by field name of `manus.state.usage.Budget`."""


@dataclass(slots=True)
class RunOptions:
    """The options of `run`, `flow`, `resume` and `chat`."""

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
    """Whether the run is part of a conversation, which prints the workspace itself."""
    last: bool = False
    interactive: bool | None = None
    """Whether a person can answer questions. None: if stdin is a terminal."""
    files: tuple[Path, ...] = ()
    images: tuple[Path, ...] = ()
