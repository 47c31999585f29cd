"""The replies that a model was paid for, kept outside of the trial's environment until it ends.

Harbor removes a trial that was interrupted, and starts it again in a new environment. The recording
of its model's turns is in a folder of the host that is mounted into each environment, so that the
new trial gets the same replies to the same requests.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path, PurePosixPath
from uuid import uuid4

MOUNTED = PurePosixPath("/manus-replies")
"""The folder of all recordings in an environment."""
_TRIAL = "trial"
_claimed: set[Path] = set()
"""The recordings of the trials of this process."""


class Recordings:
    """The recordings of one attempt at a task: one for each time that it was started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def claim(cls, root: Path, task: str, trial: Path) -> Recordings:
        """Take over an attempt at the task that was interrupted, or begin a new one.

        `task` is everything that the first request depends on; `trial` is the trial's folder.
        """
        key = hashlib.sha256(task.encode()).hexdigest()[:16]
        for folder in sorted(root.glob(f"{key}-*")):
            if folder not in _claimed and not _remove_if_ended(folder):
                break
        else:
            folder = root / f"{key}-{uuid4().hex[:8]}"
            folder.mkdir(parents=True)
            folder.chmod(0o777)  # the agent may be another user than Harbor
        _claimed.add(folder)
        (folder / _TRIAL).write_text(str(trial.resolve()), "utf-8")
        return cls(folder)

    def release(self) -> None:
        """Let a retry of the attempt take over."""
        _claimed.discard(self._folder)

    def options(self) -> list[str]:
        """Return the options of `manus run`: where to record, and which replies are paid for."""
        files = sorted(self._folder.glob("*.jsonl"), key=lambda file: file.stat().st_size)
        place = MOUNTED / self._folder.name
        options = ["--record", str(place / f"{len(files) + 1}.jsonl")]
        if files:
            options += ["--reuse", str(place / files[-1].name)]
        return options


def _remove_if_ended(folder: Path) -> bool:
    """Remove the recordings of a trial that has a result; return whether it had one."""
    trial = Path((folder / _TRIAL).read_text("utf-8"))
    if not (trial / "result.json").exists():
        return False
    shutil.rmtree(folder)
    return True
