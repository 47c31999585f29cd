"""Programs on the user's `PATH` in `~/.local/bin` and `/opt`, and the files that they need.

Users also keep their own scripts there, which may contain keys, and applications with settings. So
a sandbox exposes only programs installed by tools: environments of pipx, uv, poetry and conda, npm
packages, installations, binaries, and the entry points written by pip. All functions are blocking.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from manus.execution.environment.exposure import Exposure, expose_environment, join
from manus.execution.environment.python import expose_python, read_environment

OPT = Path("/opt")
_SYSTEM_FOLDERS = ("/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin")
_ALTERNATIVES = "/etc/alternatives"
_LOADER_SETTINGS = Path("/etc/ld.so.conf.d")
_OF_APPLICATIONS = ("boot", "platform", "plugins", "jre")
"""Folders besides `bin` and `lib` from which Maven, the Google Cloud CLI and others start."""
_OF_JAVA = ("conf", "jmods", "legal", "release")
_OF_GO = ("src", "pkg", "misc", "api", "go.env", "VERSION")
_MAX_STARTER = 4_000
_STARTER_LINES = re.compile(
    r"#!.*|#.*coding[:=].*|'''exec' .*|' '''|import (?:re|sys)|from [\w.]+ import \w+"
    r"|if __name__ == [\"']__main__[\"']:|(?:el)?if sys\.argv\[0\]\.endswith\(.*\):"
    r"|sys\.argv\[0\] = .*|sys\.exit\([\w.]+\(\)\)"
)
"""Lines of the scripts that pip and uv write for the entry points of a package."""


class UserPrograms(NamedTuple):
    """The files that programs may read, and the programs on the `PATH` that stay hidden."""

    exposure: Exposure
    hidden: tuple[Path, ...] = ()


def expose_user_programs(path: str, home: Path, opt: Path = OPT) -> UserPrograms:
    """Return the programs of a `PATH` in the `.local/bin` of a home, and in `opt`."""
    entries = [entry for entry in path.split(os.pathsep) if entry.startswith("/")]
    folders = list(dict.fromkeys(map(Path, entries)))
    watched = [*folders, opt, home / ".local" / "bin", _LOADER_SETTINGS, Path(_ALTERNATIVES)]
    changed = tuple(map(_read_change_time, watched))
    return _expose(tuple(folders), home, opt, changed)


def _read_change_time(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=16)
def _expose(
    folders: tuple[Path, ...], home: Path, opt: Path, _changed: tuple[int, ...]
) -> UserPrograms:
    parts = [Exposure(tuple(_find_loader_folders(opt)))]
    for target in _find_targets_in_opt(opt):
        parts.append(_expose_target(target, home, opt))
    hidden: list[Path] = []
    for folder in folders:
        real = Path(os.path.realpath(folder))
        if real == Path(os.path.realpath(home / ".local" / "bin")):
            programs = _expose_folder(folder, home, opt)
        elif real.is_relative_to(opt):
            programs = _expose_in_opt(real, home, opt)
        else:
            continue
        parts.append(programs.exposure)
        hidden += programs.hidden
    return UserPrograms(join(parts), tuple(dict.fromkeys(hidden)))


def _expose_in_opt(folder: Path, home: Path, opt: Path) -> UserPrograms:
    is_part = folder.name in ("bin", "sbin", "condabin") and folder.parent != opt
    if is_part:
        return UserPrograms(_expose_installation(folder.parent))
    return _expose_folder(folder, home, opt)


def _expose_folder(folder: Path, home: Path, opt: Path) -> UserPrograms:
    """Return the programs in a mixed folder that were installed by tools."""
    parts: list[Exposure] = []
    unknown: list[Path] = []
    unresolved: list[Path] = []
    for link, target in _iterate_links(folder):
        exposure = _expose_target(target, home, opt)
        parts.append(exposure)
        if not exposure.read and os.access(link, os.X_OK):
            unresolved.append(link)
    for file in _list_entries(folder):
        if not file.is_symlink() and not _is_installed_program(file):
            unknown.append(file)
    if folder.is_dir():
        parts.insert(0, Exposure((folder,), tuple(unknown)))
    programs = [file for file in unknown if file.is_file() and os.access(file, os.X_OK)]
    return UserPrograms(join(parts), (*programs, *unresolved))


def _expose_target(target: Path, home: Path, opt: Path) -> Exposure:
    """Return the files that the target of a link needs; empty if it was not installed by a tool."""
    if str(target.parent) in _SYSTEM_FOLDERS:
        return Exposure((target,))
    prefix = target.parent.parent
    if target.parent.name in ("bin", "sbin", "condabin") and prefix != opt:
        if environment := read_environment(prefix):
            return expose_python(environment)
        if prefix.is_relative_to(opt):
            return _expose_installation(prefix)
    modules = home / ".local" / "lib" / "node_modules"
    if target.is_relative_to(modules):
        names = target.relative_to(modules).parts
        length = 2 if names[0].startswith("@") else 1  # a package name may have a scope
        return Exposure((modules.joinpath(*names[:length]),))
    if _is_installed_program(target):
        return Exposure((target,))
    return Exposure()


def _expose_installation(prefix: Path) -> Exposure:
    """Return the files of a program with its own folder, without its settings."""
    additional: tuple[str, ...] = _OF_APPLICATIONS
    if (prefix / "lib" / "modules").is_file():
        additional = _OF_JAVA
    elif (prefix / "src" / "runtime").is_dir():
        additional = _OF_GO
    parts = tuple(filter(Path.exists, map(prefix.joinpath, additional)))
    return join([expose_environment(prefix), Exposure(parts)])


def _is_installed_program(file: Path) -> bool:
    """Return whether a file is a binary, or an entry point of a Python package written by pip."""
    try:
        if not file.is_file() or not os.access(file, os.X_OK):
            return False
        with file.open("rb") as stream:
            content = stream.read(_MAX_STARTER)
    except OSError:
        return False
    if content.startswith(b"\x7fELF"):
        return True
    lines = content.decode("utf-8", "replace").splitlines()
    is_script = content.startswith(b"#!") and len(content) < _MAX_STARTER
    return is_script and all(map(_is_starter_line, map(str.strip, lines)))


def _is_starter_line(line: str) -> bool:
    return not line or _STARTER_LINES.fullmatch(line) is not None


def _iterate_links(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the links in a folder, and their targets."""
    for path in _list_entries(folder):
        if path.is_symlink():
            yield path, Path(os.path.realpath(path))


def _find_targets_in_opt(opt: Path) -> Iterator[Path]:
    """Yield the files in `opt` that links in the system's folders lead to."""
    if not _list_entries(opt):
        return
    folders = dict.fromkeys(map(os.path.realpath, (*_SYSTEM_FOLDERS, _ALTERNATIVES)))
    for folder in filter(os.path.isdir, folders):
        with os.scandir(folder) as entries:
            links = [entry.path for entry in entries if entry.is_symlink()]
        # hundreds of links, mostly local ones; creating a `Path` costs more than reading a link
        for link in links:
            if f"{opt.name}/" in os.readlink(link):  # noqa: PTH115
                target = Path(os.path.realpath(link))
                if target.is_relative_to(opt):
                    yield target


def _list_entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _find_loader_folders(opt: Path) -> Iterator[Path]:
    """Yield the folders in `opt` that the dynamic loader is configured for."""
    for file in _LOADER_SETTINGS.glob("*.conf"):
        try:
            lines = file.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        for folder in map(Path, map(str.strip, lines)):
            if folder.is_relative_to(opt) and folder != opt:
                yield folder
