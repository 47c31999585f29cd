"""Find the files of a workspace that programs outside the sandbox may start, and judge changes.

git itself reads git's configuration.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from manus.sandbox.git_data import (
    GIT,
    HOOKS,
    SETTINGS,
    GitData,
    find_repository,
    list_folder,
    read_path,
)
from manus.sandbox.host_git import read_settings, run_host_git
from manus.workspace.folder_watch import FolderWatch
from manus.workspace.listing import CACHE, Listing, Status, list_workspace
from manus.workspace.protected_names import starts_by_itself
from manus.workspace.safe_open import enter, is_folder, open_at

MAX_BYTES = 4_000_000
"""Maximum size of a file whose content is kept, so that it can be put back."""
_SAMPLE = ".sample"
_TODO = ("rebase-merge/git-rebase-todo", "sequencer/todo")
_TODO_LINES = re.compile(
    r"\s*(?:(?:p|pick|r|reword|e|edit|s|squash|f|fixup|d|drop|l|label|t|reset|m|merge|noop|b|break"
    r"|u|update-ref|revert)(?:\s.*)?|#.*)?"
)
"""Lines of a list of steps that start no program, as `exec` does."""
_HARMLESS_SETTINGS = (
    *("core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates"),
    *("core.ignorecase", "core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.eol"),
    *("core.worktree", "core.sparsecheckout*", "extensions.objectformat", "extensions.refstorage"),
    *("extensions.partialclone", "extensions.worktreeconfig", "user.name", "user.email"),
    *("remote.*.url", "remote.*.pushurl", "remote.*.fetch", "remote.*.tagopt", "remote.*.promisor"),
    *("remote.*.partialclonefilter", "remote.pushdefault", "branch.*.remote", "branch.*.merge"),
    *("branch.*.rebase", "branch.*.description", "branch.*.pushremote", "submodule.*.url"),
    *("submodule.*.active", "submodule.active", "init.defaultbranch", "pull.rebase", "pull.ff"),
    *("push.default", "push.autosetupremote", "fetch.prune", "merge.ff", "gc.auto"),
    *("commit.gpgsign", "lfs.repositoryformatversion", "protocol.file.allow", "index.*"),
)
"""Settings that name no program, as patterns; a version of git may add others that do."""


class StartFile(NamedTuple):
    """A file that may be started, with its content if that could be read."""

    status: Status | None
    content: bytes | None
    is_link: bool = False
    is_settled: bool = True
    """Whether an equal status means equal content."""


class Scan(NamedTuple):
    """The files of a workspace that programs outside may start, by absolute path."""

    files: Mapping[str, StartFile]
    repositories: tuple[GitData, ...]
    unseen: tuple[str, ...]
    """Folders that could not be looked at."""


def scan(
    root: Path,
    own_folder: Path,
    known: Mapping[str, StartFile],
    watch: FolderWatch,
    *,
    is_fresh: bool,
) -> Scan:
    """Find the files. Blocking; contents of unchanged `known` files are not read again.

    `watch`, `is_fresh`: see `list_workspace`.

    Raises:
        OSError: the workspace cannot be read.
    """
    listing = list_workspace(root, own_folder, watch, float("inf"), is_fresh=is_fresh)
    entries = [*listing.repositories, *_find_hidden_submodules(root, listing)]
    repositories = tuple(find_repository(root / name, root) for name in sorted(set(entries)))
    parents = {str(parent) for name in listing.repositories for parent in Path(name).parents}
    folders = frozenset({""} | parents - {"."})
    files: dict[str, StartFile] = {}
    unseen = []
    for path, reason in listing.skipped.items():
        if reason != CACHE and is_folder(root / path):
            unseen.append(path)
        elif reason != CACHE and starts_by_itself(path, folders):
            files[f"{root}/{path}"] = StartFile(None, None)
    for path, status in listing.files.items():
        if starts_by_itself(path, folders):
            files[f"{root}/{path}"] = _read(root / path, status, known, listing)
    for file in _iterate_git_files(repositories):
        if (found := _look_up(file)) is not None:
            files[str(file)] = _read(file, found, known, listing)
    return Scan(files, repositories, tuple(unseen))


def _find_hidden_submodules(root: Path, listing: Listing) -> Iterator[str]:
    """Yield the `.git` of submodules in folders that are not listed, but that git reads."""
    caches = [path for path, reason in listing.skipped.items() if reason == CACHE]
    for name in listing.repositories if caches else ():
        links = run_host_git("--git-dir", str(root / name), "ls-files", "--stage", "-z") or ""
        top = Path(name).parent
        for entry in links.split("\0"):
            path = (top / entry.partition("\t")[2] / GIT).as_posix()
            is_link = entry.startswith("160000 ")
            if is_link and any(map(path.startswith, caches)) and os.path.lexists(root / path):
                yield path


def _iterate_git_files(repositories: Iterable[GitData]) -> Iterator[Path]:
    for repository in repositories:
        if repository.entry.is_symlink() or not repository.entry.is_dir():
            yield repository.entry
        for part in repository.parts:
            yield from map(part.joinpath, (*SETTINGS, "info/attributes", "commondir", *_TODO))
            yield part / HOOKS  # a link
            yield from (path for path in list_folder(part / HOOKS) if path.suffix != _SAMPLE)
        for path in repository.named:
            yield path
            yield from list_folder(path)


def _look_up(path: Path) -> Status | None:
    """Return the status of a file or link; None if there is none."""
    try:
        with enter(path.parent) as at:
            result = os.stat(path.name, dir_fd=at, follow_symlinks=False)
    except OSError:
        return None
    status = Status.of(result)
    return None if os.path.isdir(path) and not os.path.islink(path) else status  # noqa: PTH112, PTH114


def _read(
    path: Path, status: Status, known: Mapping[str, StartFile], listing: Listing
) -> StartFile:
    before = known.get(str(path))
    if before is not None and before.status == status and before.is_settled:
        return before
    is_settled = status.changed_at < listing.settled_before
    try:
        with enter(path.parent) as at:
            target = os.readlink(path.name, dir_fd=at)
        return StartFile(status, os.fsencode(target), is_link=True, is_settled=is_settled)
    except OSError:  # not a link
        return StartFile(status, read_content(path), is_settled=is_settled)


def read_content(path: Path) -> bytes | None:
    """Return the content of a regular file; None if it is too large, or not one. Blocking."""
    try:
        with os.fdopen(open_at(path), "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= MAX_BYTES else None


def find_dangerous_settings(content: bytes) -> frozenset[tuple[str, str]] | None:
    """Return the entries of a configuration that may name a program; None if unreadable."""
    entries = read_settings(content)
    if entries is None:
        return None
    return frozenset(entry for entry in entries if not _is_harmless(*entry))


def _is_harmless(key: str, value: str) -> bool:
    is_known = any(fnmatchcase(key, pattern) for pattern in _HARMLESS_SETTINGS)
    return is_known and "::" not in value


def starts_nothing(path: Path, new: StartFile, old: StartFile | None, now: Scan) -> bool:
    """Return whether a new or changed file of git starts no program. Blocking.

    `old`: its state before, which the user accepts; `now`: the repositories after the change.
    """
    if new.content is None or not is_git_file(path, now):
        return False
    if path.name == GIT or path.name == "commondir":
        return _leads_to_part(path, new, now)
    if new.is_link:
        return False
    if path.name in SETTINGS:
        added = find_dangerous_settings(new.content)
        accepted = find_dangerous_settings((old and old.content) or b"")
        return added is not None and added <= (accepted or frozenset())
    if path.name in ("git-rebase-todo", "todo"):
        lines = new.content.decode("utf-8", "replace").split("\n")
        return all(map(_TODO_LINES.fullmatch, lines))
    return False


def is_git_file(path: Path, now: Scan) -> bool:
    """Return whether a path is one that git reads in its directories, or a `.git`."""
    if path.name == GIT:
        return True
    parts = {part for repository in now.repositories for part in repository.parts}
    return not parts.isdisjoint((path.parent, path.parent.parent))


def _leads_to_part(path: Path, new: StartFile, now: Scan) -> bool:
    """Return whether a `.git` file, or a worktree's `commondir`, leads to where git puts it."""
    if new.is_link:
        return False
    if path.name == "commondir":
        is_worktree = path.parent.parent.name == "worktrees"
        return is_worktree and read_path(path) == Path(os.path.realpath(path.parent.parent.parent))
    target = read_path(path, "gitdir: ")
    return target is not None and any(
        target != directory and target.is_relative_to(directory) and target in repository.parts
        for repository in now.repositories
        for directory in repository.directories
        if directory.is_dir() and directory.name == GIT
    )
