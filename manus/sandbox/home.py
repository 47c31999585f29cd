"""The temporary folder with `$HOME` and `/tmp` of a run's programs, removed when the run ends.

If the run was killed, the next run removes it, since its lock is free.
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
"""The path of `$HOME` in a sandbox with its own mounts."""
SHELL = "shell"
"""Name of the folder for the files between us and the run's shell."""
SHELL_INSIDE = "/run/manus-shell"
"""Its path in a sandbox with its own mounts."""


class SandboxHome:
    """The folder with `home`, `tmp` and `shell`. All methods are blocking.

    Raises:
        OSError: the folder cannot be created.
    """

    def __init__(self) -> None:
        _remove_stale()
        # resolved, because the functions that open files safely do not follow links
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        fresh = self.path / f"{_LOCK}.new"
        self._lock = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        fresh.rename(self.path / _LOCK)  # no other process sees it unlocked
        for name in ("tmp", "home", SHELL):
            (self.path / name).mkdir(mode=0o700)

    def close(self) -> None:
        """Remove the folder."""
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
