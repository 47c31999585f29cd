"""The content of repositories before the run: files that git may restore, even protected ones.

A file that configures other programs counts as the user's own if one of their branches or tags
contains exactly that file. So `git checkout` of another branch works, while a file that the run
itself has committed still needs the user's approval.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from manus.execution.sandbox.host_programs import find_host_program
from manus.execution.sandbox.quarantine import NOT_SEARCHED
from manus.execution.sandbox.repositories import GuardedRepository, is_harmless_submodule_list

_MAX_COMMITS = 300
_MAX_REPOSITORIES = 20
_SECONDS = 20.0
_LINK_MODE = "160000 "
_ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": "/",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # fetch nothing for a partial clone
}


class GitHistory:
    """The commits of the branches and tags in the user's repositories at the start of the run."""

    def __init__(self, workspace: Path, find: Callable[[], list[GuardedRepository]]) -> None:
        """Record the commits; `find` returns the repositories of the workspace. Blocking."""
        self._workspace = workspace
        self._find = find
        self.repositories = find()
        """The repositories that existed at the start."""
        self._commits: dict[Path, list[str]] = {}
        for repository in self.repositories[:_MAX_REPOSITORIES]:
            for folder in repository.directories[-1:]:
                if folder not in self._commits:
                    self._commits[folder] = _read_commits(folder)

    def holds(self, name: str, content: bytes) -> bool:
        """Return whether a file in the workspace had this content before the run. Blocking."""
        if Path(name).name == ".gitmodules" and is_harmless_submodule_list(content):
            return True
        path = self._workspace / name
        repository = self.find_nearest_repository(path.parent)
        if repository is None:
            return False
        for folder in repository.directories[-1:]:
            inside = path.relative_to(repository.git.parent).as_posix()
            queries = "".join(f"{commit}:{inside}\n" for commit in self._commits.get(folder, ()))
            names = _run_git(folder, ["cat-file", "--batch-check=%(objectname)"], queries.encode())
            if _hash_blob(content) in names.split():
                return True
        return False

    def find_nearest_repository(self, path: Path) -> GuardedRepository | None:
        """Return the innermost repository that contains a path of the workspace. Blocking."""
        candidates = [each for each in self._find() if path.is_relative_to(each.git.parent)]
        return max(candidates, key=lambda repository: len(repository.git.parts), default=None)


class HiddenSubmodules:
    """Submodules in folders that are not searched, but that `git status` reads.

    The list of a repository is cached until its index changes.
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
            cached = stamp, _read_hidden_submodules(directory)
            self._cache[directory] = cached
        return cached[1]


def _read_hidden_submodules(directory: Path) -> list[str]:
    listing = _run_git(directory, ["ls-files", "--stage", "-z"]).split("\0")
    links = (entry.partition("\t")[2] for entry in listing if entry.startswith(_LINK_MODE))
    return [path for path in links if not NOT_SEARCHED.isdisjoint(path.split("/"))]


def _read_commits(folder: Path) -> list[str]:
    listing = _run_git(folder, ["for-each-ref", "--format=%(objectname)"]).split()
    try:
        head = (folder / "HEAD").read_text("utf-8").strip()
    except (OSError, ValueError):
        head = ""
    commits = listing
    if head and not head.startswith("ref:"):  # a detached HEAD
        commits = [head, *listing]
    return list(dict.fromkeys(commits))[:_MAX_COMMITS]


def _hash_blob(content: bytes) -> str:
    """Return the object name of a file with this content."""
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def _run_git(folder: Path, words: Sequence[str], text: bytes = b"") -> str:
    """Return the output of a git command that only reads objects; empty if it fails."""
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
