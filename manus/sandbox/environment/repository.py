"""The branch of a git repository and its uncommitted changes. All functions are blocking.

The repository may be untrusted, and its configuration can name programs that `git status` starts:
filters, a file system monitor, hooks. So `git` gets its own directory that links to the objects and
references, with a configuration that contains only a few settings without programs.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from manus.sandbox.host_programs import find_host_program
from manus.workspace.safe_open import open_file

_HEAD = re.compile(r"ref: refs/heads/(\S+)|([0-9a-f]{40,64})")
"""Matches what git writes to HEAD, so that no other file is disclosed through a link."""
_SECONDS = 1.0
"""Timeout of a git command, since a description is not worth a longer wait."""
_MAX_BYTES = 200_000
"""Maximum size of the output, in bytes."""
_MAX_NAMES = 6
_MAX_NAME = 60
_LINKED = ("objects", "refs", "packed-refs", "reftable", "info")
_SETTINGS = frozenset(
    {
        *("core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks"),
        *("core.precomposeunicode", "extensions.objectformat", "extensions.refstorage"),
    }
)
"""Settings that `git status` needs to compare files."""
_VALUE = re.compile(r"[a-z0-9]{1,10}", re.IGNORECASE)
_KINDS = {"??": "untracked", "M": "modified", "A": "added", "D": "deleted", "T": "modified"}
_CONFLICTS = ("DD", "AU", "UD", "UA", "DU", "AA", "UU")
_FIXED = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.attributesFile=/dev/null", "-c", "core.untrackedCache=false"),
)


class Repository(NamedTuple):
    """The repository of a folder."""

    top: Path
    """The top folder of its working tree."""
    directory: Path
    """The directory with HEAD and the index: `.git`, or that of a linked worktree."""
    is_linked: bool
    """Whether a file `.git` names the directory."""


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that a folder is in, or None."""
    for top in (folder, *folder.parents):
        git = top / ".git"
        if git.is_dir():
            return Repository(top, git, is_linked=False)
        if git.exists():
            try:
                target = top / _read_start(git).removeprefix("gitdir:").strip()
            except (OSError, ValueError):
                return None
            return Repository(top, target, is_linked=True)
    return None


def read_branch(repository: Repository) -> str:
    """Return the name of the branch, or the commit; empty if it cannot be read."""
    try:
        head = _HEAD.fullmatch(_read_start(repository.directory / "HEAD"))
    except (OSError, ValueError):
        return ""
    return head[1] or head[2] if head else ""


def _read_start(path: Path) -> str:
    """Read the start of a small file, which an earlier program may have replaced by a pipe."""
    with open_file(Path(os.path.realpath(path))) as file:
        return file.read(4096).decode("utf-8").strip()


def describe_changes(repository: Repository, folder: Path) -> str:
    """Return the uncommitted changes in a folder as one line; empty if they are unknown."""
    git = find_host_program("git")
    head = read_branch(repository)
    if git is None or not head:
        return ""
    try:
        common = _find_common_directory(repository)
        with tempfile.TemporaryDirectory(prefix="manus-git-") as name:
            directory = Path(name)
            _prepare(directory, common, head, git)
            output = _run_status(git, directory, repository, folder)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return _summarize(_parse_status(output))


def _find_common_directory(repository: Repository) -> Path:
    """Return the directory with the objects and references.

    Raises:
        ValueError: it may be another repository outside the workspace: `.git` is a link, or refers
            to a directory that does not refer back to it, or has objects elsewhere.
    """
    directory = repository.directory
    common = directory
    if repository.is_linked:
        linked = Path(directory, _read_start(directory / "gitdir"))
        if not linked.samefile(repository.top / ".git"):
            raise ValueError(str(directory))
        common = Path(directory, _read_start(directory / "commondir"))
    if directory.is_symlink() or (common / "objects/info/alternates").exists():
        raise ValueError(str(directory))
    return common


def _prepare(target: Path, common: Path, head: str, git: str) -> None:
    """Create the directory that `git` uses instead of the repository's own."""
    is_commit = re.fullmatch(r"[0-9a-f]{40,64}", head) is not None
    (target / "HEAD").write_text(f"{head if is_commit else f'ref: refs/heads/{head}'}\n", "utf-8")
    for name in _LINKED:
        if (common / name).exists():
            (target / name).symlink_to(_resolve_inside(common, name))
    lines = ["[core]", "\tbare = false"]
    settings = list(_read_settings(common / "config", git))
    is_extended = any(name.startswith("extensions.") for name, _ in settings)
    lines.append(f"\trepositoryformatversion = {int(is_extended)}")
    for name, value in settings:
        section, _, key = name.partition(".")
        lines += [f"[{section}]", f"\t{key} = {value}"]
    (target / "config").write_text("\n".join(lines) + "\n", "utf-8")


def _resolve_inside(directory: Path, name: str) -> Path:
    """Return the real path of an entry of a git directory.

    Raises:
        ValueError: it is outside the directory, perhaps in another repository of the user.
    """
    real = (directory / name).resolve()
    if not real.is_relative_to(directory.resolve()):
        raise ValueError(name)
    return real


def _read_settings(file: Path, git: str) -> Iterator[tuple[str, str]]:
    """Yield the settings of a repository that matter for `git status`."""
    command = [git, "config", "--file", str(file), "--no-includes", "--list", "--null"]
    completed = subprocess.run(
        command, env={"PATH": os.defpath}, cwd="/", capture_output=True, timeout=_SECONDS
    )
    for entry in completed.stdout.decode("utf-8", "replace").split("\0"):
        name, _, value = entry.partition("\n")
        if name.lower() in _SETTINGS and _VALUE.fullmatch(value):
            yield name.lower(), value


def _run_status(git: str, directory: Path, repository: Repository, folder: Path) -> bytes:
    """Return the output of `git status` for a folder of the repository."""
    environment = {
        "PATH": os.defpath,
        "HOME": str(Path.home()),
        "GIT_DIR": str(directory),
        "GIT_WORK_TREE": str(repository.top),
        "GIT_INDEX_FILE": str(_resolve_inside(repository.directory, "index")),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }
    options = ("--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all")
    command = [git, "--no-optional-locks", *_FIXED, "status", *options, "--no-renames", "--", "."]
    with (directory / "status").open("w+b") as output:
        subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=True,
        )
        output.seek(0)
        return output.read(_MAX_BYTES)


def _parse_status(output: bytes) -> Iterator[tuple[str, str]]:
    """Yield the kind of each change, and its path."""
    for entry in output.decode("utf-8", "replace").split("\0")[:-1]:
        code = entry[:2]
        if code in _CONFLICTS:
            yield "in conflict", entry[3:]
        elif kind := _KINDS.get(code) or _KINDS.get(code.strip()[:1]):
            yield kind, entry[3:]


def _summarize(changes: Iterable[tuple[str, str]]) -> str:
    """Return the number of changes of each kind, with the first names."""
    names: dict[str, list[str]] = {}
    for kind, path in changes:
        names.setdefault(kind, []).append(path)
    if not names:
        return "none"
    parts = []
    for kind, paths in names.items():
        room = max(1, _MAX_NAMES // len(names))
        listed = [_quote(path) for path in paths[:room]]
        if omitted := len(paths) - len(listed):
            listed.append(f"{omitted:,} more")
        parts.append(f"{kind} {', '.join(listed)}")
    return "; ".join(parts)


def _quote(path: str) -> str:
    """Return a path as one short word on a line."""
    flat = " ".join(path.split())
    return flat if len(flat) <= _MAX_NAME else f"…{flat[-_MAX_NAME:]}"
