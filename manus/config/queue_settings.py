"""Settings of the queue of runs and its workers."""

from __future__ import annotations

from pydantic import BaseModel, Field


class QueueSettings(BaseModel, frozen=True, extra="forbid"):
    """The queue of `manus run --queue` and `manus worker`. Times are in seconds."""

    takeover_after: float = Field(30.0, gt=0)
    """A worker that sends no heartbeat for this time loses its runs to other workers. Set the same
    time on all machines."""
    grace: float = Field(20.0, ge=0)
    """Time that a stopping worker gives its runs to complete their current step. After that it
    cancels the step."""
