"""Find git directories, and what in them makes the user's next git command start a program.

A configuration counts as harmless only if it is plainly written and all its keys are on a list:
git has dozens of keys that name programs, and gets new ones.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

GIT = ".git"
GIT_SETTINGS = ("config", "config.worktree")

_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"([^"\\]*)")?\s*\]\s*')
_ENTRY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?")
_SAFE_VALUE = re.compile(r"[^\\\"]*")
_URL = re.compile(
    r"(?:https?|ssh|git|file)://[^\s]*|[\w.-]+@[\w.-]+:[^\s]*|(?:\.{0,2}/)?[\w./@ -]+"
)
_URL_KEYS = frozenset({"url", "pushurl"})
_HARMLESS_KEYS = {
    "core": {
        *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase"),
        *("precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "quotepath", "abbrev"),
        *("commentchar", "longpaths", "whitespace", "compression", "untrackedcache"),
    },
    "extensions": {"objectformat", "refstorage", "partialclone", "worktreeconfig"},
    "user": {"name", "email"},
    "author": {"name", "email"},
    "committer": {"name", "email"},
    "remote": {"url", "pushurl", "fetch", "tagopt", "promisor", "partialclonefilter", "prune"},
    "branch": {"remote", "merge", "rebase", "description", "autosetupmerge", "sort"},
    "submodule": {"url", "active", "recurse", "branch", "ignore", "shallow"},
    "init": {"defaultbranch"},
    "pull": {"rebase", "ff"},
    "push": {"default", "autosetupremote", "followtags"},
    "fetch": {"prune", "prunetags"},
    "merge": {"conflictstyle", "ff", "log"},
    "rebase": {"autosquash", "autostash", "updaterefs"},
    "rerere": {"enabled", "autoupdate"},
    "commit": {"verbose", "cleanup", "status"},
    "diff": {"algorithm", "renames", "colormoved", "mnemonicprefix", "noprefix"},
    "log": {"date", "decorate", "showsignature"},
    "status": {"short", "branch", "showuntrackedfiles"},
    "tag": {"sort"},
    "color": {"ui", "branch", "diff", "status"},
    "gc": {"auto"},
}
"""`extensions.worktreeConfig` is harmless since `config.worktree` is looked at by itself."""
_SUBMODULE_KEYS = frozenset({"path", "update", "fetchrecursesubmodules"})
_HARMLESS_PROTOCOLS = frozenset(
    {"protocol.file.allow", "protocol.http.allow", "protocol.https.allow"}
)
_MOST_BYTES = 1_000_000
_PARSE_SECONDS = 10.0
_PARENT_PATH = re.compile(r"(?:\.\./)+[\w./@ -]+")


def dangers_in(git: Path) -> Iterator[Path]:
    """Yield the files of a git directory that make git start programs. Blocking.

    Hooks, configurations with a key that is not known to be harmless, and files that make git read
    its configuration elsewhere; also of submodules and worktrees. A `.git` that is no directory
    leads elsewhere and is yielded itself, unless that is a part of a repository that is found here.
    """
    if git.is_symlink() or not git.is_dir():
        if not _is_linked_part(git):
            yield git
        return
    yield from _dangers_of_directory(git)
    if (git / "modules").is_dir():
        for head in (git / "modules").rglob("HEAD"):
            yield from _dangers_of_directory(head.parent, is_part=True)
    if (git / "worktrees").is_dir():
        for folder in sorted((git / "worktrees").iterdir()):
            yield from _dangers_of_worktree(folder, git)


def _dangers_of_directory(git: Path, *, is_part: bool = False) -> Iterator[Path]:
    if (git / "commondir").exists():
        yield git / "commondir"
    for name in ("config", "config.worktree"):
        if (git / name).exists() and not is_harmless(git / name, is_part=is_part):
            yield git / name
    hooks = git / "hooks"
    if hooks.is_symlink():
        yield hooks
    elif hooks.is_dir():
        yield from (path for path in sorted(hooks.iterdir()) if path.suffix != ".sample")


def _dangers_of_worktree(folder: Path, git: Path) -> Iterator[Path]:
    """Yield what is dangerous in the part of a git directory that belongs to a worktree."""
    if folder.is_symlink() or not folder.is_dir():
        return
    common = _path_in(folder / "commondir")
    if common is not None and common != Path(os.path.realpath(git)):
        yield folder / "commondir"
    if (config := folder / "config.worktree").exists() and not is_harmless(config, is_part=True):
        yield config


def _is_linked_part(git: Path) -> bool:
    """Return whether a `.git` file leads to a worktree's or submodule's part of a `.git` folder."""
    target = linked_directory(git)
    return target is not None and any(
        folder.name in ("worktrees", "modules") and folder.parent.name == GIT
        for folder in target.parents
    )


def linked_directory(git: Path) -> Path | None:
    """Return the git directory that a `.git` file leads to; None if it leads nowhere. Blocking."""
    return None if git.is_symlink() else _path_in(git, "gitdir: ")


def _path_in(file: Path, prefix: str = "") -> Path | None:
    """Return the existing path that a small file of git holds."""
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return None
        text = file.read_text("utf-8").rstrip("\n")
    except (OSError, ValueError):
        return None
    if not text.startswith(prefix):
        return None
    path = Path(os.path.realpath(file.parent / text.removeprefix(prefix)))
    return path if path.exists() else None


def directories_of(git: Path, workspace: Path) -> list[Path]:
    """Return the directories that hold the repository of a `.git`, those it is led to included.

    Blocking. Directories outside of the workspace count only if the repository there names this
    worktree: a planted `.git` file leads to no repository of the user's.
    """
    if git.is_dir() and not git.is_symlink():
        return [git]
    target = Path(os.path.realpath(git)) if git.is_symlink() else linked_directory(git)
    if target is None or not target.is_dir():
        return []
    common = _path_in(target / "commondir") or target
    if target.is_relative_to(workspace) and common.is_relative_to(workspace):
        return list(dict.fromkeys([target, common]))
    linked_worktree = _path_in(target / "gitdir")
    return [target, common] if linked_worktree == Path(os.path.realpath(git)) else []


class Repository(NamedTuple):
    """The repository of a `.git`."""

    git: Path
    """The `.git`: a folder, or a file or link that leads to one."""
    directories: tuple[Path, ...]
    """The git directories, that of the main worktree included."""
    named_files: tuple[Path, ...]
    """Files and folders in the workspace that its configuration names: hooks, included files."""


def find_repository(git: Path, workspace: Path) -> Repository:
    """Return what belongs to a repository. Blocking."""
    directories = directories_of(git, workspace)
    named_files: dict[Path, None] = {}
    for folder, name in itertools.product(directories, GIT_SETTINGS):
        if not (folder / name).exists():
            continue
        for path in files_named_in(folder / name, git.parent):
            if path.is_relative_to(workspace) and path not in git.parents:
                named_files[path] = None
    return Repository(git, tuple(directories), tuple(named_files))


def files_named_in(config: Path, worktree: Path) -> list[Path]:
    """Return the existing files and folders that a configuration names: hooks, included files.

    Blocking. A path is relative to the worktree, or to the configuration itself. Only what may
    start programs is looked at.
    """
    if is_harmless(config):
        return []
    files = []
    for key, value in dangerous_entries(_content(config)) or ():
        words = (word for word in _words(value) if word not in ("", "."))
        paths = (base / word for word in words for base in (worktree, config.parent))
        for path in (Path(os.path.normpath(path)) for path in paths):
            if path.is_file() or (key == "core.hookspath" and path.is_dir()):
                files.append(path)
    return list(dict.fromkeys(files))


def _words(value: str) -> list[str]:
    try:
        return [value, *shlex.split(value)]
    except ValueError:
        return [value]


def _content(config: Path) -> bytes:
    try:
        return config.read_bytes() if config.stat().st_size <= _MOST_BYTES else b""
    except OSError:
        return b""


def dangerous_entries(content: bytes) -> frozenset[tuple[str, str]] | None:
    """Return the entries of a configuration that are not known to be harmless. Blocking.

    Git itself reads it, without what it includes. None if it cannot be read.
    """
    git = shutil.which("git", path="/usr/local/bin:/usr/bin:/bin") or shutil.which("git")
    if git is None:
        return None
    try:
        listing = subprocess.run(
            [git, "config", "--file", "-", "--no-includes", "--list", "-z"],
            input=content,
            capture_output=True,
            cwd="/",
            env={"PATH": os.defpath, "HOME": "/", "GIT_CONFIG_NOSYSTEM": "1"},
            timeout=_PARSE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if listing.returncode:
        return None
    text = listing.stdout.decode("utf-8", "surrogateescape")
    entries = (entry.partition("\n") for entry in text.split("\0") if entry)
    return frozenset((key, value) for key, _, value in entries if not is_harmless_entry(key, value))


def adds_no_danger(before: bytes, after: bytes) -> bool:
    """Return whether a configuration names no program that it did not name before. Blocking."""
    old = dangerous_entries(before)
    new = dangerous_entries(after)
    return old is not None and new is not None and new <= old


def is_harmless(config: Path, *, is_part: bool = False) -> bool:
    """Return whether a configuration of git has harmless keys alone, plainly written. Blocking.

    `is_part`: of a submodule or a worktree, which names its folder.
    """
    try:
        if config.is_symlink() or config.stat().st_size > _MOST_BYTES:
            return False
        lines = config.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return False
    section = ""
    for line in map(str.strip, lines):
        header = _SECTION.fullmatch(line)
        if header is not None:
            section = header[1].lower()
        elif line and line[0] not in "#;" and not _is_harmless_line(section, line, is_part):
            return False
    return True


def _is_harmless_line(section: str, line: str, is_part: bool) -> bool:
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        return False
    key = entry[1].lower()
    value = entry[2] or ""
    if is_part and (section, key) == ("core", "worktree"):
        return _PARENT_PATH.fullmatch(value) is not None
    return is_harmless_entry(f"{section}.{key}", value)


def is_harmless_entry(key: str, value: str) -> bool:
    """Return whether a setting of git, `section.key` or `section.name.key`, names no program."""
    if key.lower() in _HARMLESS_PROTOCOLS:
        return True
    section, _, rest = key.lower().partition(".")
    name = rest.rpartition(".")[2]
    if name not in _HARMLESS_KEYS.get(section, ()):
        return False
    return is_harmless_url(value) if name in _URL_KEYS else _is_plain(value)


def is_harmless_url(address: str) -> bool:
    """Return whether the address of a remote names no program, as `ext::` and its kind do."""
    return _URL.fullmatch(address) is not None


def is_harmless_submodule_list(content: bytes) -> bool:
    """Return whether a `.gitmodules` names no program. Blocking."""
    entries = dangerous_entries(content)
    return entries is not None and all(
        key.startswith("submodule.")
        and key.rpartition(".")[2] in _SUBMODULE_KEYS
        and _is_name(value)
        for key, value in entries
    )


def _is_name(value: str) -> bool:
    return _is_plain(value) and not value.startswith("!")


def _is_plain(value: str) -> bool:
    return _SAFE_VALUE.fullmatch(value) is not None
