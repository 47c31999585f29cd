"""Run the machine's git outside the sandbox, so that no repository can make it start a program."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from manus.sandbox.host_programs import find_host_program

_ROOT = Path("/")
_SECONDS = 20.0
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # fetch nothing for a partial clone
}
_FIXED = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*"),
    *("-c", "core.pager=cat"),
)


def run_host_git(*words: str, stdin: bytes = b"", directory: Path = _ROOT) -> str | None:
    """Return the output of a git command that reads; None if it fails. Blocking."""
    git = find_host_program("git")
    if git is None:
        return None
    try:
        completed = subprocess.run(
            [git, *_FIXED, *words],
            input=stdin,
            capture_output=True,
            cwd=directory,
            env={**_ENVIRONMENT, "HOME": str(Path.home())},
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if completed.returncode:
        return None
    return completed.stdout.decode("utf-8", "surrogateescape")


@functools.lru_cache(256)
def read_settings(content: bytes) -> tuple[tuple[str, str], ...] | None:
    """Return the entries of a git configuration, as git parses it; None if it cannot.

    Blocking; cached. Included files are not read.
    """
    listing = run_host_git("config", "--file", "-", "--no-includes", "--list", "-z", stdin=content)
    return None if listing is None else parse_settings(listing)


def parse_settings(listing: str) -> tuple[tuple[str, str], ...]:
    """Return the entries that `git config --list -z` prints; one without a value is true."""
    entries = (entry.partition("\n") for entry in listing.split("\0") if entry)
    return tuple((key, value if mark else "true") for key, mark, value in entries)
