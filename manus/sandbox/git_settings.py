"""The user's git settings for programs in a sandbox, without credentials and programs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import urlsplit

from manus.sandbox.host_programs import find_host_program

GIT_CONFIG_VARIABLE = "GIT_CONFIG_GLOBAL"
_TRY_SECONDS = 5.0
_ALLOWED = (
    *("user.name", "user.email", "user.useconfigonly", "author.*", "committer.*"),
    *("core.autocrlf", "core.eol", "core.safecrlf", "core.whitespace", "core.quotepath"),
    *("core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode"),
    *("core.longpaths", "core.abbrev", "core.compression", "core.commentchar"),
    *("core.logallrefupdates", "core.sharedrepository", "core.bigfilethreshold"),
    *("init.defaultbranch", "init.defaultobjectformat", "safe.directory"),
    *("pull.rebase", "pull.ff", "push.default", "push.autosetupremote", "push.followtags"),
    *("fetch.prune", "fetch.prunetags", "fetch.parallel", "fetch.fsckobjects"),
    *("clone.defaultremotename", "clone.rejectshallow", "checkout.*"),
    *("branch.autosetupmerge", "branch.autosetuprebase", "branch.sort", "tag.sort"),
    *("merge.ff", "merge.conflictstyle", "merge.renames", "merge.autostash", "merge.log"),
    *("rebase.autostash", "rebase.autosquash", "rebase.updaterefs", "rebase.missingcommitscheck"),
    *("commit.verbose", "commit.cleanup", "commit.status", "rerere.*", "stash.*"),
    *("diff.algorithm", "diff.renames", "diff.renamelimit", "diff.colormoved", "diff.context"),
    *("diff.mnemonicprefix", "diff.noprefix", "diff.submodule", "diff.indentheuristic"),
    *("log.*", "status.*", "color.*", "column.*", "advice.*", "i18n.*", "versionsort.*"),
    *("help.autocorrect", "grep.*", "blame.*", "format.pretty", "apply.*", "index.*"),
    *("feature.*", "gc.*", "pack.*", "transfer.fsckobjects", "submodule.recurse"),
    *("alias.*", "url.*.insteadof", "url.*.pushinsteadof", "filter.lfs.*", "http.sslverify"),
)
"""Settings for the format of repositories and of git's output. All others are omitted: headers,
proxies, credential helpers and stores, signing keys, editors, pagers, hooks, mail."""
_CREDENTIALS = re.compile(
    r"://[^/\s@]*:[^/\s@]*@"  # a name with a password
    r"|://(?!git@)[^/\s@]+@"  # a token
    r"|\b(?:authorization|bearer|token|passw(?:or)?d|secret|api[-_]?key)\b"
    r"|\b(?:gh[opusr]_|github_pat_|glpat-|xox[abp]-|sk-)\w",
    re.IGNORECASE,
)

_Setting = tuple[str, str] | tuple[str, str | None]
"""A name such as `url.https://host/.insteadof`, and its value; None if it has no `=`."""


def copy_git_settings(workspace: Path, target: Path, environ: Mapping[str, str]) -> None:
    """Write the machine's and the user's harmless settings for a workspace to a file. Blocking.

    Included files are read too, even those for this workspace only (`includeIf`). No file is
    written if there are no settings.
    """
    settings: list[_Setting] = []
    for file in _iterate_files(environ):
        settings += [
            setting for setting in _read_settings(file, workspace) if _is_harmless(*setting)
        ]
    if settings:
        target.write_bytes(format_settings(settings))


def format_settings(settings: Iterable[_Setting]) -> bytes:
    """Return settings in git's syntax."""
    return os.fsencode("".join(map(_format, settings)))


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


def _read_settings(file: Path, workspace: Path) -> list[_Setting]:
    """Return the settings of a file; empty if git is missing or cannot parse the file."""
    program = find_host_program("git")
    if program is None:
        return []
    try:
        completed = subprocess.run(
            [program, "config", "--file", str(file), "--includes", "--list", "--null"],
            cwd=workspace,
            env={"PATH": os.defpath, "HOME": str(Path.home())},
            capture_output=True,
            timeout=_TRY_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    entries = completed.stdout.decode("utf-8", "replace").split("\0")[:-1]
    return list(map(_parse_setting, entries))


def _parse_setting(entry: str) -> _Setting:
    name, separator, value = entry.partition("\n")
    if not separator:
        return name, None
    return name, value


def _is_harmless(name: str, value: str | None) -> bool:
    if not any(fnmatchcase(name, pattern) for pattern in _ALLOWED):
        return False
    text = f"{name} {value or ''}"
    if name.startswith("url."):
        # a name, a token or a query in an address
        return not _CREDENTIALS.search(text) and not urlsplit(name.split(".", 1)[1]).query
    if name.startswith("filter.lfs."):
        return name.endswith(".required") or (value or "").startswith("git-lfs ")
    is_program = name.startswith("alias.") and (value or "").lstrip().startswith("!")
    return not is_program and not _CREDENTIALS.search(text)


def _format(setting: _Setting) -> str:
    """Format a setting as a section of its own in git's syntax."""
    name, value = setting
    section, _, rest = name.partition(".")
    subsection, _, key = rest.rpartition(".")
    quoted = subsection.replace("\\", "\\\\").replace('"', '\\"')
    header = f'[{section} "{quoted}"]' if subsection else f"[{section}]"
    if value is None:
        return f"{header}\n\t{key}\n"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{header}\n\t{key} = "{escaped}"\n'
