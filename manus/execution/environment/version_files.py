"""The versions in a project's files: `.python-version`, `.nvmrc`, `.tool-versions`, `mise.toml`.

Like the tools themselves, this searches the workspace and its parent folders. All functions are
blocking.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from manus.execution.safe_open import open_file

_MAX_BYTES = 20_000
_FILES = (
    *(".python-version", ".nvmrc", ".node-version", ".tool-versions"),
    *("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml"),
    *(".config/mise.toml", ".config/mise/config.toml", "mise/config.toml", ".mise/config.toml"),
)
_NOT_INSTALLED = ("system", "path:", "ref:")


class VersionRequest(NamedTuple):
    """A version that a file requests; of several, the first that is installed."""

    tool: str
    versions: tuple[str, ...]
    file: str
    """The name of the file, or of the variable."""


def read_requests(workspace: Path) -> list[VersionRequest]:
    """Return the requests of all files, one per tool: the nearest file wins."""
    requests: dict[str, VersionRequest] = {}
    for folder in (workspace, *workspace.parents):
        for name in _FILES:
            for request in read_file(folder / name):
                requests.setdefault(request.tool, request)
    return list(requests.values())


def read_file(path: Path) -> list[VersionRequest]:
    """Return the requests of a file; empty if it is missing or cannot be parsed."""
    if not path.exists():
        return []
    try:
        with open_file(path) as file:  # refuses links, which may lead to a secret, and pipes
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [each for each in _parse_requests(path.name, text) if each.versions]


def _parse_requests(name: str, text: str) -> Iterator[VersionRequest]:
    if name.endswith(".toml"):
        yield from _parse_mise(name, text)
        return
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    if name == ".tool-versions":
        for tool, *versions in filter(None, lines):
            yield VersionRequest(tool, _select_installable(versions), name)
    else:
        tool = "node" if name in (".nvmrc", ".node-version") else "python"
        words = list(chain.from_iterable(lines))
        yield VersionRequest(tool, _select_installable(words), name)


def _parse_mise(name: str, text: str) -> Iterator[VersionRequest]:
    try:
        tools = tomllib.loads(text).get("tools")
    except tomllib.TOMLDecodeError:
        return
    if not isinstance(tools, dict):
        return
    for tool, value in tools.items():
        values = value if isinstance(value, list) else [value]
        versions = _select_installable(list(map(_read_version, values)))
        yield VersionRequest(tool.removeprefix("core:"), versions, name)


def _read_version(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("version", "")
    return str(value)


def _select_installable(versions: Sequence[str]) -> tuple[str, ...]:
    """Return the versions that managers install, since the system's own is visible anyway."""
    installable = []
    for version in versions:
        name = version.removeprefix("prefix:")
        if name and not name.startswith(_NOT_INSTALLED):
            installable.append(name)
    return tuple(installable)
