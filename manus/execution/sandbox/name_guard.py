"""Revert, after each call, changes to files that configure programs outside the sandbox.

New files are moved to quarantine. Existing ones are read-only under bubblewrap; under Landlock,
which has no exceptions in a writable folder, they are restored.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from manus.execution.protected_names import PRIVATE
from manus.execution.safe_open import open_file, write_private
from manus.execution.sandbox.git_history import HiddenSubmodules
from manus.execution.sandbox.quarantine import ProtectedNames, quarantine_names
from manus.execution.sandbox.repositories import (
    GIT,
    GIT_SETTINGS,
    GuardedRepository,
    adds_no_danger,
    find_dangers,
    find_directories,
    find_repository,
)
from manus.execution.text_files import replace_file
from manus.state.errors import ToolError

log = logging.getLogger("manus")

_QUARANTINE = f"{PRIVATE}/quarantine"
_MAX_FILES = 500
_MAX_BYTES = 1_000_000
"""Limits on the files that can be restored; others are only reported."""
_MOVED = (
    "\n[moved to {where}: {names}. Such files configure programs outside the sandbox; to create "
    "one, use `str_replace_editor`, which asks the user]"
)
_RESTORED = (
    "\n[restored, since programs outside the sandbox read it: {names}. The changed content is "
    "in {where}]"
)
_RESTORED_ONLY = "\n[restored, since programs outside the sandbox read it: {names}]"
_WARNING = (
    "%s changed while a program of the run was running, and was restored. If the change was yours, "
    "you find it in %s."
)
_MAX_NAMED = 5
_MAX_MOUNTS = 40
"""Maximum number of read-only mounts, since each costs a program a millisecond."""
_MAX_REPOSITORIES = 200
"""Maximum number of git directories that are mounted read-only."""


_LINK = b"\0link to "
"""Prefix of a link's target, which is stored instead of a file's content."""


class NameGuard:
    """A comparison of a workspace's protected names before and after a call that runs programs."""

    def __init__(
        self, root: Path, *, restores: bool, accepts: Callable[[str, bytes], bool] | None = None
    ) -> None:
        """`restores`: programs can write to existing files, so their contents are compared."""
        self._root = root
        self._restores = restores
        self._names = ProtectedNames(root)
        self._submodules = HiddenSubmodules()
        self._existing: frozenset[str] = frozenset()
        self._dangers: frozenset[str] = frozenset()
        self._contents: dict[str, bytes] = {}
        self.accepts = accepts
        """Returns whether a name and content are the user's own, and therefore accepted."""

    def find_existing_paths(self) -> list[Path]:
        """Return the existing protected paths, except git directories. Blocking."""
        names = [name for name in sorted(self._names.find()) if Path(name).name != GIT]
        return [self._root / name for name in names[:_MAX_MOUNTS]]

    def repositories(self) -> list[GuardedRepository]:
        """Return the repositories in the workspace that have a `.git`. Blocking."""
        names = [name for name in sorted(self._names.find()) if Path(name).name == GIT]
        return [find_repository(self._root / n, self._root) for n in names[:_MAX_REPOSITORIES]]

    async def begin(self) -> None:
        """Record what exists before a call."""
        await asyncio.to_thread(self._begin)

    async def finish(self) -> str:
        """Revert changes since `begin`; return notes on them for the model."""
        return await asyncio.to_thread(self._finish)

    def _begin(self) -> None:
        self._existing = self._names.find()
        self._dangers = frozenset(self._find_dangerous(self._existing))
        self._contents = self._read(self._select_compared_names())

    def _finish(self) -> str:
        kept_names = self._select_compared_names()
        names = self._names.find()
        new = {name for name in names - self._existing if Path(name).name != GIT}
        new |= set(self._find_dangerous(names)) - self._dangers
        present = self._read(kept_names)
        restored = self._restore(present)
        new |= self._find_added(present)
        new = {name for name in new if not self._is_accepted(name)}
        moved = quarantine_names(self._root, new - restored.keys(), self._root / _QUARANTINE)
        note = ""
        if moved:
            note += _MOVED.format(where=_QUARANTINE, names=_list_names(moved))
        if moved_aside := [path for path in restored.values() if path]:
            location = _list_names(path.relative_to(self._root).as_posix() for path in moved_aside)
            note += _RESTORED.format(names=_list_names(restored), where=location)
        elif restored:
            note += _RESTORED_ONLY.format(names=_list_names(restored))
        for name, path in restored.items():
            if path:
                log.warning(_WARNING, name, path)
        return note

    def _select_compared_names(self) -> list[str]:
        """Return the names whose contents are compared; the others are read-only."""
        names = self._existing if self._restores else filter(_is_git, self._existing)
        return [*names, *self._names.bare_repositories, *self._dangers]

    def _find_dangerous(self, names: Iterable[str]) -> list[str]:
        """Return the files in git directories among the names that make git start programs."""
        directories = {*filter(_is_git, names), *self._names.bare_repositories}
        directories |= set(self._find_hidden_submodules(filter(_is_git, names)))
        dangerous = []
        for name in directories:
            for path in find_dangers(self._root / name):
                dangerous.append(str(path.relative_to(self._root)))
        return dangerous

    def _find_hidden_submodules(self, names: Iterable[str]) -> Iterable[str]:
        """Yield the `.git` of submodules in folders that are not searched."""
        for git in (self._root / name for name in names):
            for directory in find_directories(git, self._root)[:1]:
                for link in self._submodules.find(directory):
                    path = git.parent / link / GIT
                    if path.exists() and path.is_relative_to(self._root):
                        yield path.relative_to(self._root).as_posix()

    def _iterate_files(self, names: Iterable[str]) -> Iterable[str]:
        """Yield the files in the named folders; of a git directory only its configuration."""
        for name in sorted(names):
            path = self._root / name
            is_folder = path.is_dir() and not path.is_symlink()
            if is_folder and (path.name == GIT or name in self._names.bare_repositories):
                yield from (f"{name}/{file}" for file in GIT_SETTINGS)
            elif is_folder:
                for folder, _, files in os.walk(path):
                    yield from (str(Path(folder, file).relative_to(self._root)) for file in files)
            else:
                yield name

    def _read(self, names: Iterable[str]) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for name in self._iterate_files(names):
            if len(contents) >= _MAX_FILES:
                break
            path = self._root / name
            with contextlib.suppress(OSError):
                if path.is_symlink():
                    contents[name] = _LINK + os.fsencode(path.readlink())
                    continue
                with open_file(path) as file:
                    content = file.read(_MAX_BYTES + 1)
                if len(content) <= _MAX_BYTES:
                    contents[name] = content
        return contents

    def _find_added(self, present: Iterable[str]) -> set[str]:
        """Return the new files in protected folders that existed before."""
        if not self._restores or len(self._contents) >= _MAX_FILES:
            return set()
        names = set(present) - self._contents.keys()
        return {name for name in names if GIT not in Path(name).parts}

    def _is_accepted(self, name: str) -> bool:
        """Return whether a new file, or each file in a new folder, is the user's own."""
        if self.accepts is None or GIT in Path(name).parts:
            return False
        contents = self._read([name])
        return bool(contents) and all(self.accepts(*each) for each in contents.items())

    def _restore(self, present: Mapping[str, bytes]) -> dict[str, Path | None]:
        """Restore the files that have changed.

        Returns:
            Their names, and where the changed content is saved; None if the file was deleted.
        """
        restored: dict[str, Path | None] = {}
        for name, content in self._contents.items():
            new = present.get(name)
            if new == content or self._is_harmless_change(name, content, new):
                continue
            with contextlib.suppress(OSError, ToolError):
                aside = self._keep_aside(name, new)
                self._write_back(self._root / name, content)
                restored[name] = aside
        return restored

    @staticmethod
    def _write_back(path: Path, content: bytes) -> None:
        if path.is_symlink():
            path.unlink()
        if content.startswith(_LINK):
            path.unlink(missing_ok=True)
            path.symlink_to(os.fsdecode(content.removeprefix(_LINK)))
        else:
            replace_file(path, content)

    def _keep_aside(self, name: str, content: bytes | None) -> Path | None:
        """Save the content that is about to be replaced, since the user may have written it."""
        if content is None:  # deleted, or too large to be read
            return quarantine_names(self._root, [name], self._root / _QUARANTINE).get(name)
        folder = self._root / _QUARANTINE / f"{int(time.time())}-{secrets.token_hex(3)}"
        write_private(folder / name, content)
        return folder / name

    def _is_harmless_change(self, name: str, old: bytes, new: bytes | None) -> bool:
        """Return whether a change of a repository's file adds no program."""
        if self.accepts is not None and self.accepts(name, old if new is None else new):
            return True
        path = self._root / name
        if path.name == GIT:
            return path.exists() and not any(find_dangers(path))
        if path.name not in GIT_SETTINGS or self._is_protected_elsewhere(path):
            return False
        if not path.parent.exists():  # the program has removed its own repository
            return True
        return new is not None and adds_no_danger(old, new)

    def _is_protected_elsewhere(self, path: Path) -> bool:
        """Return whether a file named `config` is not in a git directory, but in `.ssh`, say."""
        folders = path.relative_to(self._root).parents
        is_bare = str(path.parent.relative_to(self._root)) in self._names.bare_repositories
        return not is_bare and all(folder.name != GIT for folder in folders)


def _is_git(name: str) -> bool:
    return Path(name).name == GIT


def _list_names(names: Iterable[str]) -> str:
    names = list(names)
    omitted = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:_MAX_NAMED]) + omitted
