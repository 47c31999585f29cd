"""Find what in a git directory makes the user's next git command start a program.

A configuration counts as harmless only if it is plainly written and all its keys are on a list:
git has dozens of keys that name programs, and gets new ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

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
        *("precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "quotepath"),
    },
    "extensions": {"objectformat", "refstorage", "partialclone"},
    "user": {"name", "email"},
    "remote": {"url", "pushurl", "fetch", "tagopt", "promisor", "partialclonefilter"},
    "branch": {"remote", "merge", "rebase"},
    "submodule": {"url", "active"},
    "init": {"defaultbranch"},
    "pull": {"rebase", "ff"},
    "push": {"default", "autosetupremote"},
}
_MOST_BYTES = 1_000_000


def dangers_in(git: Path) -> Iterator[Path]:
    """Yield the files of a git directory that make git start programs. Blocking.

    Hooks, configurations with a key that is not known to be harmless, and files that make git read
    its configuration elsewhere; also of submodules. A `.git` that is no directory leads elsewhere,
    and is yielded itself.
    """
    if git.is_symlink() or not git.is_dir():
        yield git
        return
    if (git / "commondir").exists():
        yield git / "commondir"
    for name in ("config", "config.worktree"):
        if (git / name).exists() and not is_harmless(git / name):
            yield git / name
    hooks = git / "hooks"
    if hooks.is_symlink():
        yield hooks
    elif hooks.is_dir():
        yield from (path for path in sorted(hooks.iterdir()) if path.suffix != ".sample")
    if (git / "modules").is_dir():
        for head in (git / "modules").rglob("HEAD"):
            yield from dangers_in(head.parent)


def is_harmless(config: Path) -> bool:
    """Return whether a configuration of git has harmless keys alone, plainly written. Blocking."""
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
        elif line and line[0] not in "#;" and not _is_harmless_entry(section, line):
            return False
    return True


def _is_harmless_entry(section: str, line: str) -> bool:
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        return False
    key, value = entry[1].lower(), entry[2] or ""
    if key not in _HARMLESS_KEYS.get(section, ()):
        return False
    # `ext::` and its kind name a program as the address of a remote
    return _URL.fullmatch(value) is not None if key in _URL_KEYS else _is_plain(value)


def _is_plain(value: str) -> bool:
    return _SAFE_VALUE.fullmatch(value) is not None
