"""Set entries of a repository's configuration, which programs cannot write, for the user.

git itself changes a copy, and the difference of the two lists is what the user is asked about.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from manus.sandbox.git_data import GIT, find_repository, read_bytes
from manus.sandbox.host_git import read_settings, run_host_git
from manus.state.errors import ToolError
from manus.workspace.safe_open import write_file

_ORDINARY = (
    *("branch.*.remote", "branch.*.merge", "branch.*.rebase", "branch.*.pushremote"),
    *("submodule.*.url", "submodule.*.active"),
)
"""Entries that the approval of changes to repositories covers."""
_OF_REMOTE = ("remote.*.url", "remote.*.fetch")
"""Entries that it covers for a new remote."""


class ConfigChange(NamedTuple):
    """A change of the configuration of one repository."""

    file: Path
    content: bytes
    lines: tuple[str, ...]
    """The changed entries, `KEY=VALUE`, or `KEY` for a removed one."""
    is_ordinary: bool
    """Whether the entries only connect branches, new remotes and submodules."""


def plan_change(root: Path, directory: Path, settings: Mapping[str, str | None]) -> ConfigChange:
    """Change a copy of the configuration of the repository that a directory is in. Blocking.

    Raises:
        ToolError: there is no repository in the workspace, or git refuses an entry.
    """
    folders = [folder for folder in (directory, *directory.parents) if folder.is_relative_to(root)]
    entry = next((folder / GIT for folder in folders if (folder / GIT).exists()), None)
    directories = find_repository(entry, root).directories if entry is not None else ()
    if not directories:
        raise ToolError("`git_config` needs a repository: the shell is in none of the workspace.")
    file = directories[-1] / "config"
    old = read_bytes(file)
    new = _change_copy(old, settings)
    before = read_settings(old) or ()
    after = read_settings(new) or ()
    lines = [f"{key}={value}" for key, value in after if (key, value) not in before]
    lines += [key for key, _ in before if key not in dict(after)]
    is_ordinary = all(_is_ordinary(*each, dict(before)) for each in settings.items())
    return ConfigChange(file, new, tuple(lines), is_ordinary)


def _change_copy(content: bytes, settings: Mapping[str, str | None]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="manus-git-") as folder:
        copy = Path(folder, "config")
        copy.write_bytes(content)
        for key, value in settings.items():
            words = ("--unset-all", key) if value is None else ("--replace-all", key, value)
            if run_host_git("config", "--file", str(copy), *words) is None:
                raise ToolError(f"git refuses the entry `{key}` of `git_config`; nothing was set.")
        return copy.read_bytes()


def _is_ordinary(key: str, value: str | None, before: Mapping[str, str]) -> bool:
    key = key.lower()
    if "::" in (value or ""):
        return False
    if any(fnmatchcase(key, pattern) for pattern in _ORDINARY):
        return True
    section = key.rpartition(".")[0]
    is_new = not any(other.lower().startswith(f"{section}.") for other in before)
    return is_new and any(fnmatchcase(key, pattern) for pattern in _OF_REMOTE)


def apply_change(change: ConfigChange) -> None:
    """Write a change. Blocking.

    Raises:
        ToolError: the file cannot be written.
    """
    try:
        write_file(change.file, change.content)
    except OSError as error:
        raise ToolError(f"{change.file} cannot be written: {error.strerror}.") from None
