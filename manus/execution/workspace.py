"""The one place that resolves a path: the workspace, the one directory a run may write to."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from manus.config.files import data_folder, state_folder
from manus.config.trust import is_trusted
from manus.execution.safe_open import look_at, open_at, write_private
from manus.state.errors import ToolError, UsageError

WORKSPACE = "workspace"
"""The resource that it is to calls."""
PRIVATE = ".manus"
OBSERVATIONS = f"{PRIVATE}/observations"
_WHOSE = "workspace"
"""Names, in a folder of records, the workspace that they are of; written at each run."""
_EMPTY = "was_empty"
"""A file, in a folder of records, of a workspace that was empty when a run began in it."""
_KEPT = 90 * 86_400
"""Seconds that the records of a workspace are kept which is not there any more."""


class Workspace:
    """A directory, and the paths inside it.

    Paths that the model names are relative to the root, or absolute below it. Symbolic links are
    followed before the check, since code that the model wrote may have made them; the real path is
    then opened through `beneath`, which follows none. `.manus` in the root holds what programs of
    the model have to read too: it is never written through `writable`, and nothing in it is
    trusted. What is, lies in `records`.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(os.path.realpath(Path(root).expanduser()))
        self.private = self.root / PRIVATE
        known = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
        self.records = state_folder() / "workspaces" / f"{self.root.name[:50]}-{known}"
        """Journals, archives and undo, out of reach of what a model starts."""
        self._ours = (self.private, state_folder(), data_folder())

    def prepare(self) -> None:
        """Make the directory. Blocking.

        Raises:
            UsageError: it, or the folder of its records, cannot be made or written to.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            is_empty = next(self.root.iterdir(), None) is None
            self.private.mkdir(mode=0o700, exist_ok=True)  # what it holds is nobody else's
            ignore = self.private / ".gitignore"
            if look_at(ignore) is None:
                write_private(ignore, b"*\n")
            if not os.access(self.root, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise UsageError(
                f"The workspace {self.root} cannot be written to ({error.strerror}); "
                "choose another with --workspace or MANUS_WORKSPACE."
            ) from None
        try:
            if not self.records.exists():
                _forget_gone(self.records.parent)
            write_private(self.records / _WHOSE, os.fsencode(self.root))
            if is_empty:
                write_private(self.records / _EMPTY, b"")
        except OSError as error:
            raise UsageError(
                f"What a run has done cannot be kept in {self.records} ({error.strerror}); "
                "set XDG_STATE_HOME to a folder that you can write to."
            ) from None

    def trusts_files(self, environment: Mapping[str, str]) -> bool:
        """Return whether what the files of a prepared workspace say is not untrusted. Blocking.

        A person trusts the folder, or it was empty when the first run began.
        """
        is_known = is_trusted(self.root, environment)
        return look_at(self.records / _EMPTY) is not None if is_known is None else is_known

    def readable(self, path: str) -> Path:
        """The real path that a name of the model's means. Blocking (follows links).

        Raises:
            ToolError: it is empty, cannot be a path, or leads out of the workspace.
        """
        if not path.strip():
            raise ToolError("`path` is empty; give a path in the workspace.")
        try:
            real = Path(os.path.realpath(self.root / path))
        except ValueError:  # a NUL, or a lone surrogate that no file system can hold
            raise ToolError(
                f"`path` {path[:200]!r} holds a character that a path cannot hold; "
                "give a path in the workspace."
            ) from None
        if not real.is_relative_to(self.root):
            raise ToolError(
                f"{path} is outside the workspace; only paths below {self.root} can be used, "
                "best written relative to it."
            )
        return real

    def writable(self, path: str) -> Path:
        """As `readable`, for a file that is going to be changed.

        Raises:
            ToolError: as there, and for the agent's own records in `.manus`.
        """
        real = self.readable(path)
        if any(map(real.is_relative_to, self._ours)):
            raise ToolError(
                f"{path} belongs to the agent's own records and cannot be changed; "
                "choose another path."
            )
        return real

    @contextmanager
    def exclusive(self, real: Path) -> Iterator[None]:
        """Keep a file for oneself, against every run and process that edits in this workspace.

        Held while it is read and written, by its real path, so that two edits of one file come
        one after the other. Blocking.

        Raises:
            OSError: the lock's own file cannot be made.
        """
        name = hashlib.sha256(os.fsencode(real)).hexdigest()[:2]  # a few files serve all paths
        lock = open_at(self.records / "locks" / name, os.O_RDWR | os.O_CREAT, 0o600, make=0o700)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # given back when the file is closed
            yield
        finally:
            os.close(lock)

    def resource(self, path: str) -> str:
        """What a call on that path touches: `workspace/<relative path>`. Asks no file system.

        A name whose meaning only the file system knows (`..`, another name of the root) stands
        for the whole workspace, so that no two calls on one file ever run side by side.
        """
        name = path.removeprefix(f"{self.root}/")
        if name.startswith("/") or ".." in name.split("/"):
            return WORKSPACE
        parts = [part for part in name.split("/") if part not in ("", ".")]
        return "/".join((WORKSPACE, *parts))

    def show(self, path: Path) -> str:
        """A path as the model sees it: relative to the root, so that it is the same everywhere."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)


def _forget_gone(folder: Path) -> None:
    """Remove the records of workspaces that have not been there, nor used, for a long time."""
    for whose in folder.glob(f"*/{_WHOSE}"):
        with contextlib.suppress(OSError):
            is_old = whose.stat().st_mtime < time.time() - _KEPT
            if is_old and not os.path.lexists(whose.read_bytes()):
                shutil.rmtree(whose.parent)
