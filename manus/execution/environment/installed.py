"""Versions of Python, Node and other tools that version managers have installed for the user.

Each manager has a folder with one subfolder per version. All functions are blocking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_SAFE = re.compile(r"[\w+-][\w.+-]*(/envs/[\w+-][\w.+-]*)?")
"""Names of versions and tools that cannot lead to another folder (path traversal)."""
_PLAIN = re.compile(r"\D*[\d.]+")
"""Versions without a suffix such as `-dev`."""
_UV = re.compile(r"(cpython|pypy)-(\d[^-]*)-")
_NEWEST = frozenset(("latest", "node", "stable", "current"))
_MAX_ALIASES = 5
_OTHER_NAMES = {"nodejs": "node", "golang": "go"}


class Installation(NamedTuple):
    """One version of a tool."""

    tool: str
    version: str
    prefix: Path

    @property
    def programs(self) -> list[Path]:
        """Return the folders for the `PATH`."""
        candidates = (self.prefix / "bin", self.prefix / "go/bin")
        return list(filter(Path.is_dir, candidates)) or [self.prefix]


class VersionManagers:
    """The folders of the version managers of a user."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        def folder(variable: str, default: Path) -> Path:
            return Path(environ.get(variable) or default)

        data = folder("XDG_DATA_HOME", home / ".local/share")
        self.pyenv = folder("PYENV_ROOT", home / ".pyenv")
        self.uv = folder("UV_PYTHON_INSTALL_DIR", data / "uv/python")
        self.nvm = folder("NVM_DIR", home / ".nvm")
        self.nodenv = folder("NODENV_ROOT", home / ".nodenv")
        self.volta = folder("VOLTA_HOME", home / ".volta")
        self.fnm = folder("FNM_DIR", data / "fnm")
        self.mise = folder("MISE_DATA_DIR", data / "mise")
        self.asdf = folder("ASDF_DATA_DIR", home / ".asdf")

    def find(self, tool: str, request: str) -> Installation | None:
        """Return the installed version that satisfies a request such as `3.12` or `lts/iron`."""
        tool = _OTHER_NAMES.get(tool, tool)
        if not _SAFE.fullmatch(tool):
            return None
        versions: dict[str, Path] = {}
        for name, prefix in self._iterate_installed(tool):
            versions.setdefault(name, prefix)
        if tool == "node":
            request = self._resolve_node_alias(request)
        version = _select_version(request, versions)
        if not version:
            return None
        return Installation(tool, version, versions[version])

    def _iterate_installed(self, tool: str) -> Iterator[tuple[str, Path]]:
        """Yield versions and their folders, in order of the managers' priority."""
        if tool == "python":
            yield from _iterate_versions(self.pyenv / "versions")
            yield from _iterate_environments(self.pyenv / "versions")
            for name, prefix in _iterate_versions(self.uv):
                if match := _UV.match(name):
                    implementation = "" if match[1] == "cpython" else "pypy"
                    yield f"{implementation}{match[2]}", prefix
        if tool == "node":
            yield from _iterate_versions(self.nvm / "versions/node")
            for name, prefix in _iterate_versions(self.fnm / "node-versions"):
                yield name, prefix / "installation"
            yield from _iterate_versions(self.nodenv / "versions")
            yield from _iterate_versions(self.volta / "tools/image/node")
        yield from _iterate_versions(self.mise / "installs" / tool)
        aliases = [old for old, new in _OTHER_NAMES.items() if new == tool]
        for name in (tool, *aliases):
            yield from _iterate_versions(self.asdf / "installs" / name)

    def _resolve_node_alias(self, request: str) -> str:
        """Resolve an alias of nvm such as `lts/iron` or `default` to a version."""
        for _ in range(_MAX_ALIASES):
            if not re.fullmatch(r"[\w.-]+|lts/(\*|[\w-]+)", request):
                break
            try:
                request = (self.nvm / "alias" / request).read_text("utf-8", "replace").strip()
            except OSError:  # a version, or an unknown alias
                break
        return request


def _iterate_versions(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the versions in a folder; links among them are short names of other versions."""
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    for path in entries:
        if path.is_dir() and _SAFE.fullmatch(path.name):
            yield path.name.removeprefix("v"), path


def _iterate_environments(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the virtual environments in pyenv's versions."""
    for path in folder.glob("*/envs/*"):
        yield f"{path.parts[-3]}/envs/{path.name}", path


def _select_version(request: str, versions: Mapping[str, Path]) -> str | None:
    """Return the version with the requested name, or the newest one that starts with it."""
    name = request.strip()
    for prefix in ("python-", "cpython-", "cpython@", "v"):
        name = name.removeprefix(prefix)
    if name in versions:
        return name
    matching: list[str] = []
    for version in versions:
        is_match = version[0].isdigit() if name in _NEWEST else version.startswith(f"{name}.")
        if is_match:
            matching.append(version)
    plain = filter(_PLAIN.fullmatch, matching)
    return max(list(plain) or matching, key=_sort_key, default=None)


def _sort_key(version: str) -> list[int]:
    return list(map(int, re.findall(r"\d+", version)))
