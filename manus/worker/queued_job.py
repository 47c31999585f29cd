"""A job as it is stored in the queue."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, Field

from manus.runs.options import RunOptions
from manus.state.errors import UsageError
from manus.state.text import sanitize_all

VERSION = 1
"""Version of the stored form."""
OPTIONS = ("workspace", "profile", "model", "max_steps", "budget", "approve", "approve_plan")
"""Options that travel with a run; everything else is a setting of the worker."""


class QueuedJob(BaseModel, frozen=True):
    """A job as it is stored in the queue, until a worker prepares it."""

    version: int = VERSION
    thread_id: str
    kind: str
    """`agent` or `flow`."""
    request: str
    """The request as text, for the list of threads."""
    graph_input: dict[str, Any]
    options: dict[str, Any]
    run_id: str = Field(default_factory=lambda: secrets.token_hex(16))
    """Every worker that takes over the run continues it under this id."""
    takeovers: int = 0
    """How often a worker has died while it executed the run."""
    queued_at: datetime = Field(default_factory=lambda: datetime.now(UTC))

    def as_json(self) -> dict[str, Any]:
        """Return the stored form, with text that the database accepts."""
        values: dict[str, Any] = sanitize_all(self.model_dump(mode="json"))
        return values

    def run_options(self) -> RunOptions:
        """Return the options of the run. A worker has nobody to answer questions."""
        values = {**self.options, "budget": tuple(self.options.get("budget", ()))}
        return RunOptions(**values, interactive=False, quiet=True)


def select_options(args: RunOptions) -> dict[str, Any]:
    """Return the options that travel with a run.

    Raises:
        UsageError: an option works only on the machine on which it was set.
    """
    for name in ("record", "reuse", "or_replay", "output_file", "output_schema"):
        if getattr(args, name):
            raise UsageError(
                f"--{name.replace('_', '-')} names a file on this machine, but a worker executes "
                "a queued run; remove one of the two."
            )
    values = {name: getattr(args, name) for name in OPTIONS}
    return {name: value for name, value in values.items() if value}


def read_queued_job(values: Mapping[str, Any]) -> QueuedJob:
    """Return a run from its stored form.

    Raises:
        UsageError: a newer version of manus has queued it.
    """
    if values.get("version", 0) > VERSION:
        raise UsageError("A newer version of manus has queued this run; update manus here.")
    return QueuedJob.model_validate(values)
