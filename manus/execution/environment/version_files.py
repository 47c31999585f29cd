"""The versions in a project's files: `.python-version`, `.nvmrc`, `.tool-versions`, `mise.toml`.

Like the tools, this searches the workspace and its parent folders. All functions are blocking.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
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
    """A version that a file requests: the first installed one of several."""

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
        with open_file(path) as file:  # no link, which may lead to a secret, and no pipe
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
        yield VersionRequest(
            tool, _select_installable([word for line in lines for word in line]), name
        )


def _parse_mise(name: str, text: str) -> Iterator[VersionRequest]:
    try:
        tools = tomllib.loads(text).get("tools")
    except tomllib.TOMLDecodeError:
        return
    for tool, value in (tools if isinstance(tools, dict) else {}).items():
        values = value if isinstance(value, list) else [value]
        yield VersionRequest(
            tool.removeprefix("core:"), _select_installable([_version(v) for v in values]), name
        )


def _version(value: Any) -> str:
    return str(value.get("version", "") if isinstance(value, dict) else value)


def _select_installable(versions: Sequence[str]) -> tuple[str, ...]:
    """Return the versions that managers install; the system's own is visible anyway."""
    plain = (version.removeprefix("prefix:") for version in versions)
    return tuple(version for version in plain if version and not version.startswith(_NOT_INSTALLED))
