"""Undo, after each call, what programs did to names that configure programs outside of the sandbox.

New names are moved into quarantine. Existing ones are read-only under bubblewrap; under Landlock,
which knows no exception below a folder that may be written, they are restored.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

from manus.execution.protected_names import PRIVATE
from manus.execution.safe_open import open_file, write_private
from manus.execution.sandbox.quarantine import ProtectedNames, move_out
from manus.execution.sandbox.repositories import dangers_in
from manus.execution.text_files import replace_file
from manus.state.errors import ToolError

log = logging.getLogger("manus")

_GIT = ".git"
_QUARANTINE = f"{PRIVATE}/quarantine"
_MOST_FILES, _MOST_BYTES = 500, 1_000_000
"""Of the files that are kept to be restored; others are only reported."""
_MOVED = (
    "\n[moved to {where}: {names}. Such files configure programs outside of the sandbox; to make "
    "one, use `str_replace_editor`, which asks the user]"
)
_RESTORED = (
    "\n[restored, since programs outside of the sandbox read it: {names}. What was there is kept "
    "in {where}]"
)
_RESTORED_ONLY = "\n[restored, since programs outside of the sandbox read it: {names}]"
_WARNING = (
    "%s changed while a program of the run was working, and was restored. If the change was yours, "
    "it is kept in %s."
)
_NAMED = 5
_MOST_MOUNTS = 40
"""Names that are mounted read-only: each mount costs a program a millisecond."""


class NameGuard:
    """Compares the protected names of a workspace before and after a call that runs programs."""

    def __init__(self, root: Path, *, restores: bool) -> None:
        """`restores`: programs can write to existing names, so that their contents are compared."""
        self._root = root
        self._restores = restores
        self._names = ProtectedNames(root)
        self._existing: frozenset[str] = frozenset()
        self._dangers: frozenset[str] = frozenset()
        self._contents: dict[str, bytes] = {}

    def existing_paths(self) -> list[Path]:
        """Return the protected names that exist, but for git directories. Blocking."""
        names = [name for name in sorted(self._names.find()) if Path(name).name != _GIT]
        return [self._root / name for name in names[:_MOST_MOUNTS]]

    async def begin(self) -> None:
        """Note what exists before a call."""
        await asyncio.to_thread(self._begin)

    async def finish(self) -> str:
        """Undo what programs did since `begin`; return lines that say so, for the model."""
        return await asyncio.to_thread(self._finish)

    def _begin(self) -> None:
        self._existing = self._names.find()
        self._dangers = frozenset(self._dangerous(self._existing))
        if self._restores:
            self._contents = self._read(self._existing | self._dangers)

    def _finish(self) -> str:
        found = self._names.find()
        new = {name for name in found - self._existing if Path(name).name != _GIT}
        new |= set(self._dangerous(found)) - self._dangers
        restored = self._restore() if self._restores else {}
        moved = move_out(self._root, new - restored.keys(), self._root / _QUARANTINE)
        note = ""
        if moved:
            note += _MOVED.format(where=_QUARANTINE, names=_listed(moved))
        if kept := [path for path in restored.values() if path]:
            where = _listed(path.relative_to(self._root).as_posix() for path in kept)
            note += _RESTORED.format(names=_listed(restored), where=where)
        elif restored:
            note += _RESTORED_ONLY.format(names=_listed(restored))
        for name, path in restored.items():
            if path:
                log.warning(_WARNING, name, path)
        return note

    def _dangerous(self, names: Iterable[str]) -> list[str]:
        """Return what in the git directories among the names makes git start programs."""
        repositories = (self._root / name for name in names if Path(name).name == _GIT)
        paths = (path for git in repositories for path in dangers_in(git))
        return [str(path.relative_to(self._root)) for path in paths]

    def _files(self, names: Iterable[str]) -> Iterable[str]:
        """Yield the files below the names; of a git directory only its configuration."""
        for name in sorted(names):
            path = self._root / name
            if path.name == _GIT:
                yield f"{name}/config"
            elif path.is_dir() and not path.is_symlink():
                for folder, _, files in os.walk(path):
                    yield from (str(Path(folder, file).relative_to(self._root)) for file in files)
            else:
                yield name

    def _read(self, names: Iterable[str]) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for name in self._files(names):
            if len(contents) >= _MOST_FILES:
                break
            with contextlib.suppress(OSError), open_file(self._root / name) as file:
                content = file.read(_MOST_BYTES + 1)
                if len(content) <= _MOST_BYTES:
                    contents[name] = content
        return contents

    def _restore(self) -> dict[str, Path | None]:
        """Write back the files that differ from what they were.

        Returns:
            Their names, and where what was there is kept; None if the file was gone.
        """
        present = self._read(self._existing | self._dangers)
        restored: dict[str, Path | None] = {}
        for name, content in self._contents.items():
            if present.get(name) != content and not self._is_harmless_change(name):
                with contextlib.suppress(OSError, ToolError):
                    kept = self._keep_aside(name, present.get(name))
                    replace_file(self._root / name, content)
                    restored[name] = kept
        return restored

    def _keep_aside(self, name: str, content: bytes | None) -> Path | None:
        """Keep what is about to be replaced: the user may have written it during the call."""
        if content is None:  # it is gone, or too long to be read
            return move_out(self._root, [name], self._root / _QUARANTINE).get(name)
        folder = self._root / _QUARANTINE / f"{int(time.time())}-{secrets.token_hex(3)}"
        write_private(folder / name, content)
        return folder / name

    def _is_harmless_change(self, name: str) -> bool:
        """Return whether a file is the configuration of a repository, and starts no program."""
        path = self._root / name
        return path.parent.name == _GIT and path.exists() and path not in dangers_in(path.parent)


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:_NAMED]) + more
