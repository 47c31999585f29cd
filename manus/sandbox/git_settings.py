"""The user's git settings for programs in a sandbox, without credentials and programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from manus.sandbox.host_git import parse_settings, run_host_git

GIT_CONFIG_VARIABLE = "GIT_CONFIG_GLOBAL"
_ALLOWED = (
    *("user.name", "user.email", "user.useconfigonly", "author.*", "committer.*"),
    *("core.autocrlf", "core.eol", "core.safecrlf", "core.whitespace", "core.quotepath"),
    *("core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode"),
    *("core.longpaths", "core.abbrev", "core.commentchar", "core.sharedrepository"),
    *("init.defaultbranch", "init.defaultobjectformat", "safe.directory", "checkout.*"),
    *("pull.rebase", "pull.ff", "push.default", "push.autosetupremote", "push.followtags"),
    *("fetch.prune", "fetch.prunetags", "branch.autosetupmerge", "branch.autosetuprebase"),
    *("merge.ff", "merge.conflictstyle", "merge.renames", "merge.autostash", "rebase.auto*"),
    *("rebase.updaterefs", "commit.cleanup", "rerere.*", "stash.*", "status.*", "advice.*"),
    *("diff.algorithm", "diff.renames", "diff.context", "diff.submodule", "i18n.*"),
    *("submodule.recurse", "http.sslverify"),
)
"""Settings for the format of repositories and of git's output. All others are omitted: addresses,
headers, proxies, credentials, signing keys, aliases, editors, hooks."""


def copy_git_settings(workspace: Path, target: Path, environ: Mapping[str, str]) -> None:
    """Write the machine's and the user's harmless settings for a workspace to a file. Blocking.

    Included files are read too, even those for this workspace only (`includeIf`). No file is
    written if there are no settings.
    """
    options = ("config", "--includes", "--list", "-z", "--file")
    entries: list[tuple[str, str]] = []
    for file in _iterate_files(environ):
        entries += parse_settings(run_host_git(*options, str(file), directory=workspace) or "")
    if harmless := [each for each in entries if _is_harmless(*each)]:
        target.write_bytes(format_settings(harmless))


def _is_harmless(key: str, value: str) -> bool:
    if key.startswith("filter.lfs."):
        return value == "true" or value.startswith("git-lfs ")
    return any(fnmatchcase(key, pattern) for pattern in _ALLOWED)


def format_settings(settings: Iterable[tuple[str, str]]) -> bytes:
    """Return settings in git's syntax."""
    return os.fsencode("".join(_format(*each) for each in settings))


def _iterate_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the configuration files in ascending order of precedence."""
    home = Path.home()
    files = [Path("/etc/gitconfig")]
    if configured := environ.get(GIT_CONFIG_VARIABLE):
        files.append(Path(configured))
    else:
        folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        files += [folder / "git" / "config", home / ".gitconfig"]
    yield from filter(Path.is_file, files)


def _format(name: str, value: str) -> str:
    """Format a setting as a section of its own in git's syntax."""
    section, _, rest = name.partition(".")
    subsection, _, key = rest.rpartition(".")
    quoted = subsection.replace("\\", "\\\\").replace('"', '\\"')
    header = f'[{section} "{quoted}"]' if subsection else f"[{section}]"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{header}\n\t{key} = "{escaped}"\n'
