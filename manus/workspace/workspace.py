"""The workspace: the only directory a run may write to, and the only code that resolves paths."""

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
from manus.workspace.file_names import find_look_alikes
from manus.workspace.safe_open import look_at, open_at, write_private
from manus.state.errors import ToolError, UsageError

WORKSPACE = "workspace"
"""The name of the workspace as a resource of calls."""
PRIVATE = ".manus"
OBSERVATIONS = f"{PRIVATE}/observations"
_OWNER_FILE = "workspace"
"""A file in a records folder that contains the path of its workspace; written by each run."""
_EMPTY_FILE = "was_empty"
"""A file in a records folder that marks a workspace that was empty before its first run."""
_MAX_AGE = 90 * 86_400
"""Seconds that the records of a deleted workspace are kept."""


class Workspace:
    """A directory, and the paths inside it.

    Paths from the model are relative to the root, or absolute below it. Symbolic links are resolved
    before the check, since programs of the model may have created them; the real path is then
    opened through `safe_open`, which follows no links. `.manus` in the root contains files that
    programs of the model need to read: it is never written through `writable`, and nothing in it is
    trusted. Trusted files are in `records`.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(os.path.realpath(Path(root).expanduser()))
        self.private = self.root / PRIVATE
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
        self.records = state_folder() / "workspaces" / f"{self.root.name[:50]}-{digest}"
        """Journals, archives and undo records, which programs of the model cannot access."""
        self.approved_writes: dict[Path, str] = {}
        """SHA-256 of what approved calls of the editor have written, by path."""
        self._protected = (self.private, state_folder(), data_folder())

    def prepare(self) -> None:
        """Create the directory and the folder of its records. Blocking.

        Raises:
            UsageError: one of the two cannot be created or written to.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            is_empty = next(self.root.iterdir(), None) is None
            self.private.mkdir(mode=0o700, exist_ok=True)  # private to its owner
            ignore = self.private / ".gitignore"
            if look_at(ignore) is None:
                write_private(ignore, b"*\n")
            if not os.access(self.root, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise UsageError(
                f"Cannot write to the workspace {self.root} ({error.strerror}); "
                "choose another with --workspace or MANUS_WORKSPACE."
            ) from None
        try:
            if not self.records.exists():
                _remove_stale_records(self.records.parent)
            write_private(self.records / _OWNER_FILE, os.fsencode(self.root))
            if is_empty:
                write_private(self.records / _EMPTY_FILE, b"")
        except OSError as error:
            raise UsageError(
                f"Cannot write the records of a run to {self.records} ({error.strerror}); "
                "set XDG_STATE_HOME to a writable folder."
            ) from None

    def trusts_files(self, environment: Mapping[str, str]) -> bool:
        """Return whether the files of a prepared workspace are trusted. Blocking.

        They are if the user trusts the folder, or if it was empty before the first run.
        """
        is_known = is_trusted(self.root, environment)
        if is_known is not None:
            return is_known
        return look_at(self.records / _EMPTY_FILE) is not None

    def readable(self, path: str) -> Path:
        """Resolve a path from the model to the real path. Blocking (follows links).

        If there is no such file, it may be the only one whose name looks the same.

        Raises:
            ToolError: the path is empty, invalid, ambiguous, or outside the workspace.
        """
        real = self._resolve(path)
        if os.path.lexists(real):
            return real
        matches = find_look_alikes(self.root, real)
        if len(matches) > 1:
            names = ", ".join(ascii(self.show(match)) for match in matches)
            raise ToolError(
                f"There is no {path}, but {len(matches)} files whose names look the same, here as "
                f"Python literals: {names}. Rename one of them."
            )
        return self._resolve(str(matches[0])) if matches else real

    def describe_name(self, path: str, real: Path) -> str:
        """Say the real name of a file that `readable` has found for a path which looks the same."""
        if self._resolve(path) == real:
            return ""
        return f" (Its real name, as a Python literal: {self.show(real)!a}.)"

    def _resolve(self, path: str) -> Path:
        if not path.strip():
            raise ToolError("`path` is empty; give a path in the workspace.")
        try:
            real = Path(os.path.realpath(self.root / path))
        except ValueError:  # a NUL, or a lone surrogate, which no file system can store
            raise ToolError(
                f"`path` {path[:200]!r} contains a character that is not allowed in a path; "
                "give a path in the workspace."
            ) from None
        if not real.is_relative_to(self.root):
            raise ToolError(
                f"{path} is outside the workspace; only paths below {self.root} can be used, "
                "preferably relative to it."
            )
        return real

    def writable(self, path: str, *, existing: bool = False) -> Path:
        """Resolve a path like `readable`, for a file that will be changed or created.

        Only an `existing` file is found by a name that looks the same.

        Raises:
            ToolError: see `readable`; also raised for the agent's own records in `.manus`.
        """
        real = self.readable(path) if existing else self._resolve(path)
        if any(map(real.is_relative_to, self._protected)):
            raise ToolError(
                f"{path} belongs to the agent's own records and cannot be changed; "
                "choose another path."
            )
        return real

    @contextmanager
    def exclusive(self, real: Path) -> Iterator[None]:
        """Lock a file against edits by other runs and processes in this workspace. Blocking.

        The real path is locked during reading and writing, so that edits of one file are
        serialized.

        Raises:
            OSError: the lock file cannot be created.
        """
        name = hashlib.sha256(os.fsencode(real)).hexdigest()[:2]  # a few files serve all paths
        lock = open_at(self.records / "locks" / name, os.O_RDWR | os.O_CREAT, 0o600, make=0o700)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
            yield
        finally:
            os.close(lock)

    def resource(self, path: str) -> str:
        """Return the resource of a path, `workspace/<relative path>`, without file access.

        A path that only the file system can resolve (`..`, another name of the root) represents
        the whole workspace, so that two calls on one file never run concurrently.
        """
        name = path.removeprefix(f"{self.root}/")
        if name.startswith("/") or ".." in name.split("/"):
            return WORKSPACE
        parts = [part for part in name.split("/") if part not in ("", ".")]
        return "/".join((WORKSPACE, *parts))

    def show(self, path: Path) -> str:
        """Format a path for the model: relative to the root, so that it is the same everywhere."""
        if path.is_relative_to(self.root):
            path = path.relative_to(self.root)
        return str(path)


def iterate_workspaces() -> Iterator[Path]:
    """Yield the workspaces of all runs so far whose records exist. Blocking."""
    for owner_file in (state_folder() / "workspaces").glob(f"*/{_OWNER_FILE}"):
        with contextlib.suppress(OSError):
            yield Path(os.fsdecode(owner_file.read_bytes()))


def _remove_stale_records(folder: Path) -> None:
    """Remove the records of deleted workspaces that have not been used for a long time."""
    for owner_file in folder.glob(f"*/{_OWNER_FILE}"):
        with contextlib.suppress(OSError):
            is_old = owner_file.stat().st_mtime < time.time() - _MAX_AGE
            if is_old and not os.path.lexists(owner_file.read_bytes()):
                shutil.rmtree(owner_file.parent)
