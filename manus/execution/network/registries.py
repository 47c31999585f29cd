"""The package registries that the user's own pip and npm are configured for.

pip and npm are queried when a program of a tainted run first requests an unknown host. They neither
run in the workspace nor are started from it, since the model may have created its files.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

_SECONDS = 15.0
_PIP_DEFAULTS = (
    "import sys; sys.path[:0] = sys.argv[1:];"
    "from pip._internal.models.index import PyPI;"
    "print(PyPI.simple_url, 'https://' + PyPI.file_storage_domain)"
)
"""Prints pip's built-in index and the host of its files, which no pip command prints."""
_INDEX = re.compile(r"^[^=]*\.(extra-)?index-url='(.*)'$", re.MULTILINE)
_LOCATION = re.compile(r"^pip \S+ from (.*)[/\\]pip \(", re.MULTILINE)
_URL = re.compile(r"https?://[^\s'\"\\]+")
_lock = Lock()


async def find_registry_hosts(workspace: Path) -> frozenset[str]:
    """Return the hosts of the registries; empty if neither pip nor npm is found."""
    return await asyncio.to_thread(_find_hosts_locked, workspace)


def _find_hosts_locked(workspace: Path) -> frozenset[str]:
    with _lock:  # pip opens several connections at once
        return _find_registry_hosts(workspace, os.environ.get("PATH", os.defpath))


def _find_registry_hosts(workspace: Path, path: str) -> frozenset[str]:
    """Query pip and npm, each program once per process. Blocking, for up to a second or two."""
    urls = [*_find_pip_urls(workspace, path), *_find_npm_urls(workspace, path)]
    hosts = set()
    for url in urls:
        if host := urlsplit(url).hostname:
            hosts.add(host)
    return frozenset(hosts)


def _find_pip_urls(workspace: Path, path: str) -> Iterator[str]:
    """Yield the indexes of this interpreter's pip, or of the one on the path."""
    pip: tuple[str, ...] = (sys.executable, "-I", "-m", "pip")
    configured = _run_command(*pip, "config", "list")
    if configured is None:
        other = _find_program("pip", workspace, path)
        if other is None:
            return
        pip = (other,)
        configured = _run_command(*pip, "config", "list") or ""
    has_index = False
    for extra, value in _INDEX.findall(configured):
        has_index = has_index or not extra
        yield from _URL.findall(value)
    if not has_index:
        yield from _URL.findall(_read_pip_defaults(*pip) or "")


def _read_pip_defaults(*pip: str) -> str | None:
    """Return pip's built-in hosts, printed by this interpreter with the modules of a pip."""
    location = _LOCATION.search(_run_command(*pip, "--version") or "")
    if location is None:
        return None
    return _run_command(sys.executable, "-I", "-c", _PIP_DEFAULTS, location[1])


def _find_npm_urls(workspace: Path, path: str) -> Iterator[str]:
    """Yield npm's registry, and those of scopes."""
    npm = _find_program("npm", workspace, path)
    printed = _run_command(npm, "config", "list", "--json") if npm else None
    try:
        settings: Any = json.loads(printed or "{}")
    except ValueError:
        return
    for name, value in settings.items():
        if name == "registry" or name.endswith(":registry"):
            yield from _URL.findall(str(value))


def _find_program(name: str, workspace: Path, path: str) -> str | None:
    """Return a program on the path that is not in the workspace."""
    folders = []
    for folder in path.split(os.pathsep):
        if Path(folder).is_absolute() and not Path(folder).resolve().is_relative_to(workspace):
            folders.append(folder)
    path_found = shutil.which(name, path=os.pathsep.join(folders))
    inside = path_found and Path(path_found).resolve().is_relative_to(workspace)
    return None if inside else path_found


@lru_cache(maxsize=32)
def _run_command(*command: str) -> str | None:
    """Return what a program prints; None if it fails. Cached for the process."""
    try:
        completed = subprocess.run(
            command,
            cwd="/",  # so that settings of a project do not apply
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return completed.stdout.decode("utf-8", "replace") if completed.returncode == 0 else None
