"""Versions of Python, Node and other tools that version managers have installed for the user.

Each manager keeps them below a folder of its own, named by the version. All of it is blocking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_SAFE = re.compile(r"[\w+-][\w.+-]*(/envs/[\w+-][\w.+-]*)?")
"""Names of versions and tools that lead to no other folder."""
_UV = re.compile(r"(cpython|pypy)-(\d[^-]*)-")
_NEWEST = frozenset(("latest", "node", "stable", "current"))
_MOST_ALIASES = 5
_OTHER_NAMES = {"nodejs": "node", "golang": "go"}


class Installation(NamedTuple):
    """One version of a tool."""

    tool: str
    version: str
    prefix: Path

    @property
    def programs(self) -> list[Path]:
        """The folders for the `PATH`."""
        found = [self.prefix / name for name in ("bin", "go/bin")]
        return [folder for folder in found if folder.is_dir()] or [self.prefix]


class Managers:
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
        """Return the installed version that a request such as `3.12` or `lts/iron` means."""
        tool = _OTHER_NAMES.get(tool, tool)
        if not _SAFE.fullmatch(tool):
            return None
        versions: dict[str, Path] = {}
        for name, prefix in self._installed(tool):
            versions.setdefault(name, prefix)
        if tool == "node":
            request = self._node_version(request)
        version = _best(request, versions)
        return Installation(tool, version, versions[version]) if version else None

    def _installed(self, tool: str) -> Iterator[tuple[str, Path]]:
        """Yield versions and their folders, those of the manager that is asked first first."""
        if tool == "python":
            yield from _below(self.pyenv / "versions")
            yield from _nested(self.pyenv / "versions")
            for name, prefix in _below(self.uv):
                if match := _UV.match(name):
                    yield match[2] if match[1] == "cpython" else f"pypy{match[2]}", prefix
        if tool == "node":
            yield from _below(self.nvm / "versions/node")
            for name, prefix in _below(self.fnm / "node-versions"):
                yield name, prefix / "installation"
            yield from _below(self.nodenv / "versions")
            yield from _below(self.volta / "tools/image/node")
        yield from _below(self.mise / "installs" / tool)
        for name in (tool, *(old for old, new in _OTHER_NAMES.items() if new == tool)):
            yield from _below(self.asdf / "installs" / name)

    def _node_version(self, request: str) -> str:
        """Return the version that nvm keeps for a name such as `lts/iron` or `default`."""
        for _ in range(_MOST_ALIASES):
            if not re.fullmatch(r"[\w.-]+|lts/(\*|[\w-]+)", request):
                break
            try:
                request = (self.nvm / "alias" / request).read_text("utf-8", "replace").strip()
            except OSError:  # a version, or a name that it does not know
                break
        return request


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the versions in a folder; the links among them name others more shortly."""
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    for path in entries:
        if path.is_dir() and _SAFE.fullmatch(path.name):
            yield path.name.removeprefix("v"), path


def _nested(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the virtual environments that pyenv keeps below its versions."""
    for path in folder.glob("*/envs/*"):
        yield f"{path.parts[-3]}/envs/{path.name}", path


def _best(request: str, versions: Mapping[str, Path]) -> str | None:
    """Return the version with that name, or the newest that begins with it."""
    wanted = request.strip()
    for prefix in ("python-", "cpython-", "cpython@", "v"):
        wanted = wanted.removeprefix(prefix)
    if wanted in versions:
        return wanted
    if wanted in _NEWEST:
        fitting = [version for version in versions if version[0].isdigit()]
    else:
        fitting = [version for version in versions if version.startswith(f"{wanted}.")]
    plain = [version for version in fitting if re.fullmatch(r"\D*[\d.]+", version)]
    return max(plain or fitting, key=_order, default=None)


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
