"""Find git directories, and files in them that make the user's next git command start a program.

A configuration counts as harmless only if its syntax is simple and all its keys are on an allow
list: git has dozens of keys that name programs, and new versions add more.
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
"""`extensions.worktreeConfig` is harmless because `config.worktree` is checked by itself."""
_SUBMODULE_KEYS = frozenset({"path", "update", "fetchrecursesubmodules"})
_HARMLESS_PROTOCOLS = frozenset(
    {"protocol.file.allow", "protocol.http.allow", "protocol.https.allow"}
)
_MAX_BYTES = 1_000_000
_PARSE_SECONDS = 10.0
_PARENT_PATH = re.compile(r"(?:\.\./)+[\w./@ -]+")


def find_dangers(git: Path) -> Iterator[Path]:
    """Yield the files in a git directory that make git start programs. Blocking.

    These are hooks, configurations with a key that is not on the allow list, and files that make
    git read its configuration elsewhere, submodules and worktrees included. A `.git` that is a file
    or link is yielded itself, unless it leads to a part of another repository's `.git` folder.
    """
    if git.is_symlink() or not git.is_dir():
        if not _is_linked_part(git):
            yield git
        return
    yield from _find_directory_dangers(git)
    if (git / "modules").is_dir():
        for head in (git / "modules").rglob("HEAD"):
            yield from _find_directory_dangers(head.parent, is_part=True)
    if (git / "worktrees").is_dir():
        for folder in sorted((git / "worktrees").iterdir()):
            yield from _find_worktree_dangers(folder, git)


def _find_directory_dangers(git: Path, *, is_part: bool = False) -> Iterator[Path]:
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


def _find_worktree_dangers(folder: Path, git: Path) -> Iterator[Path]:
    """Yield the dangerous files in the folder of a worktree in a git directory."""
    if folder.is_symlink() or not folder.is_dir():
        return
    common = _read_path(folder / "commondir")
    if common is not None and common != Path(os.path.realpath(git)):
        yield folder / "commondir"
    if (config := folder / "config.worktree").exists() and not is_harmless(config, is_part=True):
        yield config


def _is_linked_part(git: Path) -> bool:
    """Return whether a `.git` file leads to a worktree's or submodule's part of a `.git` folder."""
    target = find_linked_directory(git)
    return target is not None and any(
        folder.name in ("worktrees", "modules") and folder.parent.name == GIT
        for folder in target.parents
    )


def find_linked_directory(git: Path) -> Path | None:
    """Return the git directory that a `.git` file leads to; None if it leads nowhere. Blocking."""
    if git.is_symlink():
        return None
    return _read_path(git, "gitdir: ")


def _read_path(file: Path, prefix: str = "") -> Path | None:
    """Return the path in a small file of git, if it exists."""
    try:
        if not file.is_file() or file.stat().st_size > _MAX_BYTES:
            return None
        text = file.read_text("utf-8").rstrip("\n")
    except (OSError, ValueError):
        return None
    if not text.startswith(prefix):
        return None
    path = Path(os.path.realpath(file.parent / text.removeprefix(prefix)))
    if not path.exists():
        return None
    return path


def find_directories(git: Path, workspace: Path) -> list[Path]:
    """Return the git directories of a `.git`, including those that it links to. Blocking.

    Directories outside the workspace count only if the repository there names this worktree, so
    that a planted `.git` file cannot lead to a repository of the user.
    """
    if git.is_dir() and not git.is_symlink():
        return [git]
    target = Path(os.path.realpath(git)) if git.is_symlink() else find_linked_directory(git)
    if target is None or not target.is_dir():
        return []
    common = _read_path(target / "commondir") or target
    if target.is_relative_to(workspace) and common.is_relative_to(workspace):
        return list(dict.fromkeys([target, common]))
    linked_worktree = _read_path(target / "gitdir")
    if linked_worktree != Path(os.path.realpath(git)):
        return []
    return [target, common]


class GuardedRepository(NamedTuple):
    """The repository of a `.git`."""

    git: Path
    """The `.git`: a folder, or a file or link that leads to one."""
    directories: tuple[Path, ...]
    """The git directories, including that of the main worktree."""
    named_files: tuple[Path, ...]
    """Files and folders in the workspace that its configuration names: hooks, included files."""


def find_repository(git: Path, workspace: Path) -> GuardedRepository:
    """Find the directories and named files of a repository. Blocking."""
    directories = find_directories(git, workspace)
    named_files: dict[Path, None] = {}
    for folder, name in itertools.product(directories, GIT_SETTINGS):
        if not (folder / name).exists():
            continue
        for path in find_named_files(folder / name, git.parent):
            if path.is_relative_to(workspace) and path not in git.parents:
                named_files[path] = None
    return GuardedRepository(git, tuple(directories), tuple(named_files))


def find_named_files(config: Path, worktree: Path) -> list[Path]:
    """Return the existing files and folders that a configuration names: hooks, included files.

    Blocking. A path is relative to the worktree, or to the configuration itself. Only entries that
    may start programs are read.
    """
    if is_harmless(config):
        return []
    files = []
    for key, value in read_dangerous_entries(_read_content(config)) or ():
        words = (word for word in _split_words(value) if word not in ("", "."))
        paths = (base / word for word in words for base in (worktree, config.parent))
        for path in (Path(os.path.normpath(path)) for path in paths):
            if path.is_file() or (key == "core.hookspath" and path.is_dir()):
                files.append(path)
    return list(dict.fromkeys(files))


def _split_words(value: str) -> list[str]:
    try:
        return [value, *shlex.split(value)]
    except ValueError:
        return [value]


def _read_content(config: Path) -> bytes:
    try:
        if config.stat().st_size > _MAX_BYTES:
            return b""
        return config.read_bytes()
    except OSError:
        return b""


def read_dangerous_entries(content: bytes) -> frozenset[tuple[str, str]] | None:
    """Return the entries of a configuration that are not on the allow list. Blocking.

    Git itself parses it, without included files. None if it cannot be parsed.
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
    """Return whether a change of a configuration adds no dangerous entry. Blocking."""
    old = read_dangerous_entries(before)
    new = read_dangerous_entries(after)
    return old is not None and new is not None and new <= old


def is_harmless(config: Path, *, is_part: bool = False) -> bool:
    """Return whether a git configuration has only harmless keys in simple syntax. Blocking.

    `is_part`: it belongs to a submodule or worktree, and may name its folder.
    """
    try:
        if config.is_symlink() or config.stat().st_size > _MAX_BYTES:
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
    """Return whether a git setting, `section.key` or `section.name.key`, names no program."""
    if key.lower() in _HARMLESS_PROTOCOLS:
        return True
    section, _, rest = key.lower().partition(".")
    name = rest.rpartition(".")[2]
    if name not in _HARMLESS_KEYS.get(section, ()):
        return False
    return is_harmless_url(value) if name in _URL_KEYS else _is_plain(value)


def is_harmless_url(address: str) -> bool:
    """Return whether the address of a remote names no program, as `ext::` and the like do."""
    return _URL.fullmatch(address) is not None


def is_harmless_submodule_list(content: bytes) -> bool:
    """Return whether a `.gitmodules` names no program. Blocking."""
    entries = read_dangerous_entries(content)
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
