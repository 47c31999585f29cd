"""What a repository held before the run: files that git may bring back, whatever their names.

A file that configures other programs is the user's own where one of their branches or tags holds
exactly it. So `git checkout` of another branch works, and a file that the run has committed itself
does not get past the user in this way.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from manus.execution.sandbox.host_programs import find_host_program
from manus.execution.sandbox.quarantine import NOT_SEARCHED
from manus.execution.sandbox.repositories import Repository, is_harmless_submodule_list

_MOST_COMMITS = 300
_MOST_REPOSITORIES = 20
_SECONDS = 20.0
_LINK_MODE = "160000 "
_ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": "/",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # nothing is fetched for a partial clone
}


class GitHistory:
    """The commits that the branches and tags of the user's repositories led to at the start."""

    def __init__(self, workspace: Path, find: Callable[[], list[Repository]]) -> None:
        """Note the commits; `find` returns the repositories of the workspace. Blocking."""
        self._workspace = workspace
        self._find = find
        self.repositories = find()
        """Those that were there at the start."""
        self._commits: dict[Path, list[str]] = {}
        for repository in self.repositories[:_MOST_REPOSITORIES]:
            for folder in repository.directories[-1:]:
                if folder not in self._commits:
                    self._commits[folder] = _commits(folder)

    def holds(self, name: str, content: bytes) -> bool:
        """Return whether a file in the workspace held that content before the run. Blocking."""
        if Path(name).name == ".gitmodules" and is_harmless_submodule_list(content):
            return True
        path = self._workspace / name
        repository = self.nearest_repository(path.parent)
        if repository is None:
            return False
        for folder in repository.directories[-1:]:
            inside = path.relative_to(repository.git.parent).as_posix()
            queries = "".join(f"{commit}:{inside}\n" for commit in self._commits.get(folder, ()))
            names = _git(folder, ["cat-file", "--batch-check=%(objectname)"], queries.encode())
            if _blob(content) in names.split():
                return True
        return False

    def nearest_repository(self, path: Path) -> Repository | None:
        """Return the repository that a path in the workspace is in. Blocking."""
        around = [r for r in self._find() if path.is_relative_to(r.git.parent)]
        return max(around, key=lambda repository: len(repository.git.parts), default=None)


class HiddenSubmodules:
    """Finds submodules in folders that are not searched: `git status` looks into them all the same.

    The list of a repository is read again when its index has changed.
    """

    def __init__(self) -> None:
        self._cache: dict[Path, tuple[tuple[int, int], list[str]]] = {}

    def find(self, directory: Path) -> list[str]:
        """Return the paths of such submodules in the index of a git directory. Blocking."""
        try:
            status = (directory / "index").stat()
        except OSError:
            return []
        stamp = (status.st_mtime_ns, status.st_size)
        cached = self._cache.get(directory)
        if cached is None or cached[0] != stamp:
            cached = stamp, _hidden_submodules(directory)
            self._cache[directory] = cached
        return cached[1]


def _hidden_submodules(directory: Path) -> list[str]:
    listing = _git(directory, ["ls-files", "--stage", "-z"]).split("\0")
    links = (entry.partition("\t")[2] for entry in listing if entry.startswith(_LINK_MODE))
    return [path for path in links if not NOT_SEARCHED.isdisjoint(path.split("/"))]


def _commits(folder: Path) -> list[str]:
    listing = _git(folder, ["for-each-ref", "--format=%(objectname)"]).split()
    try:
        head = (folder / "HEAD").read_text("utf-8").strip()
    except (OSError, ValueError):
        head = ""
    detached = [] if head.startswith("ref:") else [head]
    return list(dict.fromkeys([*filter(None, detached), *listing]))[:_MOST_COMMITS]


def _blob(content: bytes) -> str:
    """Return the name that git gives a file with that content."""
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def _git(folder: Path, words: Sequence[str], text: bytes = b"") -> str:
    """Return what a git command prints that reads objects alone; nothing if it fails."""
    git = find_host_program("git")
    if git is None:
        return ""
    try:
        completed = subprocess.run(
            [git, "--git-dir", str(folder), "-c", "core.fsmonitor=false", *words],
            input=text,
            capture_output=True,
            cwd="/",
            env=_ENVIRONMENT,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.decode("utf-8", "replace")
