"""Look, while no program of the sandbox can write, at files that would start a program outside.

What a program has written to such a file is moved to the run's private records, and a changed file
is put back. A mark in the records exists from before the first program until after the last look,
with the state to compare with, so that the next command on the workspace looks first if manus was
killed.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import logging
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from manus.sandbox.git_data import GIT, GitData
from manus.sandbox.git_settings import format_settings
from manus.sandbox.held_files import HELD, LINK
from manus.sandbox.host_git import read_settings
from manus.sandbox.own_commits import OwnCommits
from manus.sandbox.start_files import (
    Scan,
    StartFile,
    find_dangerous_settings,
    is_git_file,
    read_content,
    scan,
    starts_nothing,
)
from manus.workspace.folder_watch import watch_folder
from manus.workspace.listing import Status
from manus.workspace.protected_names import is_protected
from manus.workspace.safe_open import (
    enter,
    make_accessible,
    open_at,
    remove,
    write_file,
    write_private,
)

log = logging.getLogger("manus")

_MARKS = "looks"
_MAX_NAMED = 5
_TAKEN = (
    "\n[taken out, since programs outside the sandbox would start it: {names}. The user decides "
    "whether it comes back (`manus held`); to write such a file, use `str_replace_editor`, which "
    "asks first]"
)
_UNSEEN = "\n[could not be looked at for files that start programs: {names}]"

Closed = Mapping[Path, int]
"""Paths that were read-only for programs, with their inodes: what changed there is the user's."""


class Look:
    """The looks at one workspace during one run. All methods are blocking."""

    def __init__(self, root: Path, records: Path, approved: Mapping[Path, str]) -> None:
        """Create the looks at a workspace.

        Args:
            root: the workspace.
            records: the folder of the run's private records.
            approved: the SHA-256 of what approved calls have written, by path.
        """
        self._root = root
        self._records = records
        self._approved = approved
        self._known: dict[str, StartFile] = {}
        self._watch = watch_folder(root)
        self._unseen: tuple[str, ...] = ()
        """Folders that could not be looked at when the last look ended."""
        self._own_commits = OwnCommits()
        self._mark = records / _MARKS / f"{int(time.time())}-{secrets.token_hex(4)}.json"
        self._lock = -1
        self.repositories: tuple[GitData, ...] = ()
        """The repositories of the workspace as of the last look."""

    def start(self) -> None:
        """Look first if an earlier run was killed; then record the state and set the mark."""
        for mark in sorted((self._records / _MARKS).glob("*.json")):
            self._finish_crashed(mark)
        self.accept()
        self._own_commits.record(self.repositories)
        self._write_mark()

    def accept(self) -> None:
        """Accept the present state: no program has been able to write since the last look."""
        self._record(self._scan(is_fresh=False))

    def _record(self, now: Scan) -> None:
        self.repositories = now.repositories
        self._unseen = now.unseen
        is_changed = dict(now.files) != self._known
        self._known = {**self._known, **now.files}
        if is_changed or self._lock < 0:
            self._write_mark()

    def look(self, closed: Iterable[Closed] = ()) -> str:
        """Take out what programs have written; return notes for the model."""
        now = self._scan_all()
        closed = list(closed)
        taken = []
        for name, new in now.files.items():
            old = self._known.get(name)
            if old is not None and _is_same(old, new):
                continue
            path = Path(name)
            if self._is_acceptable(path, new, old, now, closed):
                continue
            self._take_out(path, new, old, now)
            taken.append(path)
        if taken:
            self.accept()
        else:
            self._record(now)
        return self._describe(taken, now)

    def _scan_all(self) -> Scan:
        """Find the files, also in folders that programs have made unreadable for the user."""
        now = self._scan(is_fresh=True)
        opened: set[str] = set(self._unseen)
        while new := set(now.unseen) - opened:
            opened |= new
            for path in new:
                with contextlib.suppress(OSError):
                    make_accessible(self._root / path)
            now = self._scan(is_fresh=True)
        return now

    def _scan(self, *, is_fresh: bool) -> Scan:
        return scan(self._root, self._records, self._known, self._watch, is_fresh=is_fresh)

    def accept_file(self, path: Path) -> None:
        """Accept one file that manus has written for the user."""
        self._known[str(path)] = StartFile(None, read_content(path))

    def list_patterns(self) -> list[Path]:
        """Return the existing files that match a pattern, except git's."""
        names = [os.path.relpath(name, self._root) for name in self._known]
        names = [name for name in names if is_protected(name) and GIT not in Path(name).parts]
        return list(map(self._root.joinpath, names))

    @property
    def has_repositories(self) -> bool:
        """Return whether the user had a repository here before the run."""
        return bool(self._own_commits.commits)

    def finish(self) -> str:
        """Look for the last time, after all programs have ended, and remove the mark."""
        notes = self.look()
        if self._lock >= 0:
            self._mark.unlink(missing_ok=True)
            self._mark.with_suffix(".lock").unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = -1
        return notes

    def _is_acceptable(
        self,
        path: Path,
        new: StartFile,
        old: StartFile | None,
        now: Scan,
        closed: list[Closed],
    ) -> bool:
        if closed and all(_is_closed(path, each) for each in closed):
            return True
        if starts_nothing(path, new, old, now):
            return True
        if new.content is None:
            return False
        if self._approved.get(path) == hashlib.sha256(new.content).hexdigest():
            return True
        return self._own_commits.holds(path, new.content) and not is_git_file(path, now)

    def _take_out(self, path: Path, new: StartFile, old: StartFile | None, now: Scan) -> None:
        """Copy a file to the records; then put it back as it was, or remove it."""
        for each in (path.parent, path):  # a program may have withdrawn permissions
            with contextlib.suppress(OSError):
                make_accessible(each)
        with contextlib.suppress(OSError):
            _keep(path, self._records / HELD / str(int(time.time())) / self._show(path))
        if old is not None and old.content is not None and old.status is not None:
            _put_back(path, old)
        elif path.name == "config" and is_git_file(path, now) and new.content is not None:
            write_file(path, _without_programs(new.content), 0o644)
        else:
            remove(path)

    def _describe(self, taken: list[Path], now: Scan) -> str:
        notes = _TAKEN.format(names=_list_names(map(self._show, taken))) if taken else ""
        return notes + (_UNSEEN.format(names=_list_names(now.unseen)) if now.unseen else "")

    def _show(self, path: Path) -> str:
        if path.is_relative_to(self._root):
            return path.relative_to(self._root).as_posix()
        return path.as_posix().lstrip("/")

    def _write_mark(self) -> None:
        files = {name: _encode(file) for name, file in self._known.items()}
        content = json.dumps({"files": files, "commits": self._own_commits.commits})
        if self._lock < 0:
            self._mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = self._mark.with_suffix(".lock")
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        write_private(self._mark, content.encode())

    def _finish_crashed(self, mark: Path) -> None:
        """Look on behalf of a run that was killed; do nothing if the run is alive."""
        with contextlib.suppress(OSError):
            lock = os.open(mark.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                content = json.loads(mark.read_bytes())
                self._known = {name: _decode(file) for name, file in content["files"].items()}
                self._own_commits.commits = content["commits"]
                if notes := self.look():
                    log.warning("%s%s", self._root, notes)
                mark.unlink()
                mark.with_suffix(".lock").unlink()
            finally:
                os.close(lock)


def _is_same(old: StartFile, new: StartFile) -> bool:
    if new.content is None:
        return new.status is not None and new.status == old.status
    return (old.content, old.is_link) == (new.content, new.is_link)


def _is_closed(path: Path, closed: Closed) -> bool:
    """Return whether a path was below one that programs could not write."""
    for top, inode in closed.items():
        if path.is_relative_to(top):
            with contextlib.suppress(OSError):
                return top.stat(follow_symlinks=False).st_ino == inode
    return False


def _keep(path: Path, target: Path) -> None:
    """Copy a file, or the target of a link, to the records."""
    with enter(path.parent) as at:
        mode = os.stat(path.name, dir_fd=at, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            write_private(target, LINK + os.fsencode(os.readlink(path.name, dir_fd=at)))
    if not stat.S_ISREG(mode):
        return
    make = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with (
        os.fdopen(open_at(path), "rb") as source,
        os.fdopen(open_at(target, make, 0o600, make=0o700), "wb") as copy,
    ):
        shutil.copyfileobj(source, copy)


def _put_back(path: Path, old: StartFile) -> None:
    content = old.content or b""
    if old.is_link:
        remove(path)
        with enter(path.parent) as at:
            os.symlink(os.fsdecode(content), path.name, dir_fd=at)
        return
    remove(path)  # a link, too
    write_file(path, content, stat.S_IMODE(old.status.mode) if old.status else None)


def _without_programs(content: bytes) -> bytes:
    """Return a git configuration without the entries that may name a program."""
    dangerous = find_dangerous_settings(content)
    entries = read_settings(content) if dangerous is not None else None
    return format_settings(each for each in entries or () if each not in (dangerous or ()))


def _encode(file: StartFile) -> list[Any]:
    content = None if file.content is None else base64.b64encode(file.content).decode()
    return [file.status, content, file.is_link]


def _decode(values: list[Any]) -> StartFile:
    status, content, is_link = values
    content = None if content is None else base64.b64decode(content)
    return StartFile(status and Status(*status), content, is_link, is_settled=False)


def _list_names(names: Iterable[str]) -> str:
    names = list(names)
    omitted = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:_MAX_NAMED]) + omitted
