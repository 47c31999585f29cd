"""The commits of the user's branches and tags before the run, whose files git may restore.

So `git checkout` of another branch may bring its `.github/workflows`, while a file that the run has
committed itself is looked at like any other.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from manus.sandbox.git_data import GitData
from manus.sandbox.host_git import run_host_git


class OwnCommits:
    """The commits of the repositories at the start of a run. All methods are blocking."""

    def __init__(self) -> None:
        self.commits: dict[str, tuple[str, list[str]]] = {}
        """By the folder of the files: the git directory of its main worktree, and the commits."""

    def record(self, repositories: Iterable[GitData]) -> None:
        """Record the commits of the branches and tags, and those that are checked out."""
        for repository in repositories:
            for directory in repository.directories[-1:]:
                options = ("--git-dir", str(directory))
                refs = run_host_git(*options, "for-each-ref", "--format=%(objectname)") or ""
                head = run_host_git(*options, "rev-parse", "--verify", "-q", "HEAD") or ""
                commits = list(dict.fromkeys([*head.split(), *refs.split()]))
                self.commits[str(repository.entry.parent)] = (str(directory), commits)

    def holds(self, path: Path, content: bytes) -> bool:
        """Return whether one of the commits has a file with this content at a path."""
        top = next((folder for folder in path.parents if str(folder) in self.commits), None)
        if top is None:
            return False
        directory, commits = self.commits[str(top)]
        name = path.relative_to(top).as_posix()
        queries = "".join(f"{commit}:{name}\n" for commit in commits)
        options = ("--git-dir", directory, "cat-file", "--batch-check=%(objectname)")
        blobs = run_host_git(*options, stdin=os.fsencode(queries)) or ""
        header = b"blob %d\0" % len(content)
        digest = hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
        return digest in blobs.split()
