"""All that the page tells of a thread: its trace, and the files of its workspaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from manus.run_report.clock import Clock
from manus.run_report.files import ALL_IMAGES, ChangedFile, files_of
from manus.trace.model import Run, Trace


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run, and the files that it left."""

    run: Run
    clock: Clock
    files: list[ChangedFile]
    files_note: str

    @property
    def key(self) -> str:
        """The run's place on the page."""
        return f"r{self.run.number}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a page tells."""

    trace: Trace
    runs: list[RunReport]
    place: str
    """Where the thread is stored, in words."""
    is_live: bool
    """Whether the page follows the thread."""
    written: datetime = field(default_factory=lambda: datetime.now(UTC))


def build_report(trace: Trace, *, place: str = "", is_live: bool = False) -> Report:
    """Gather it. Blocking: it looks at the files of the workspace."""
    runs: list[RunReport] = []
    room = ALL_IMAGES
    for run in reversed(trace.runs):  # where the room for images is short, the newest have it
        files, note = files_of(run, room)
        room -= sum(file.size or 0 for file in files if file.image)
        runs.insert(0, RunReport(run, Clock(run), files, note))
    return Report(trace, runs, place, is_live)
