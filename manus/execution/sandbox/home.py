"""The folder that is `$HOME` and `/tmp` to the programs of a run; it goes with the run.

Where the run was killed, the next one removes it: it finds that nobody holds its lock any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "manus-sandbox-"
_LOCK = "lock"
HOME = "/home/agent"
"""What it is called inside, where a wall can give it another name."""


class SandboxHome:
    """Holds `home` and `tmp`. All of it is blocking.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self) -> None:
        _remove_stale()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        fresh = self.path / f"{_LOCK}.new"
        self._lock = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        fresh.rename(self.path / _LOCK)  # nobody meets it unlocked
        for name in ("tmp", "home"):
            (self.path / name).mkdir(mode=0o700)

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _remove_stale() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)
            finally:
                os.close(lock)
