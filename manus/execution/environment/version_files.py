"""What a project's files ask for: `.python-version`, `.nvmrc`, `.tool-versions`, `mise.toml`.

They are looked for as the tools do, in the workspace and the folders above it. All of it is
blocking.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from manus.execution.safe_open import open_file

_LARGEST = 20_000
_FILES = (
    *(".python-version", ".nvmrc", ".node-version", ".tool-versions"),
    *("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml"),
    *(".config/mise.toml", ".config/mise/config.toml", "mise/config.toml", ".mise/config.toml"),
)
_NOT_INSTALLED = ("system", "path:", "ref:")


class Request(NamedTuple):
    """A version that a file asks for, the first that is installed of several."""

    tool: str
    versions: tuple[str, ...]
    file: str
    """The name of the file, or of the variable."""


def read_requests(workspace: Path) -> list[Request]:
    """Return what the files ask for, each tool once: the nearest file counts."""
    found: dict[str, Request] = {}
    for folder in (workspace, *workspace.parents):
        for name in _FILES:
            for request in read_file(folder / name):
                found.setdefault(request.tool, request)
    return list(found.values())


def read_file(path: Path) -> list[Request]:
    """Return what one file asks for; nothing if it is not there or cannot be understood."""
    if not path.exists():
        return []
    try:
        with open_file(path) as file:  # neither a link, which may lead to a secret, nor a pipe
            text = file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return []
    return [each for each in _requests(path.name, text) if each.versions]


def _requests(name: str, text: str) -> Iterator[Request]:
    if name.endswith(".toml"):
        yield from _of_mise(name, text)
        return
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    if name == ".tool-versions":
        for tool, *versions in filter(None, lines):
            yield Request(tool, _usable(versions), name)
    else:
        tool = "node" if name in (".nvmrc", ".node-version") else "python"
        yield Request(tool, _usable([word for line in lines for word in line]), name)


def _of_mise(name: str, text: str) -> Iterator[Request]:
    try:
        tools = tomllib.loads(text).get("tools")
    except tomllib.TOMLDecodeError:
        return
    for tool, value in (tools if isinstance(tools, dict) else {}).items():
        values = value if isinstance(value, list) else [value]
        yield Request(tool.removeprefix("core:"), _usable([_version(v) for v in values]), name)


def _version(value: Any) -> str:
    return str(value.get("version", "") if isinstance(value, dict) else value)


def _usable(versions: Sequence[str]) -> tuple[str, ...]:
    """Return the versions that a manager has installed: the system's own is seen anyway."""
    plain = (version.removeprefix("prefix:") for version in versions)
    return tuple(version for version in plain if version and not version.startswith(_NOT_INSTALLED))
