"""Select the files of an installation that programs may read: its programs and libraries.

Secrets are often stored next to them and must stay hidden: the address of a package index with a
password in `pip.conf`, tokens in `.condarc` and `npmrc`, exported keys in an activation script. All
functions are blocking.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_PARTS = (
    *("bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share", "ssl", "condabin"),
    *("compiler_compat", "pyvenv.cfg", "etc/fonts", "boot", "platform", "plugins", "jre"),
    *("conf", "jmods", "release", "src", "pkg", "misc", "api", "go.env", "VERSION"),
)
"""Entries of an environment, or of an application with its own folder, without settings."""
_OF_MIXED = ("bin", "lib", "lib64", "include")
"""Entries that are exposed of a folder with other content, such as `/` or a home."""
_HOOKS = ("preactivate", "postactivate", "predeactivate", "postdeactivate")
"""Scripts of virtualenvwrapper, in which users export keys."""
_ACTIVATION = ("activate", "activate.csh", "activate.fish")
_EXPORT = re.compile(r"^\s*(?:export|setenv|set\s+-\w*x\w*)\s+(\w+)", re.MULTILINE)
_EXPORTED = re.compile(
    "PATH|PS1|PYTHONHOME|VIRTUAL_ENV(_PROMPT)?|PKG_CONFIG_PATH|T(CL|K)_LIBRARY|_OLD_[A-Z_]+"
)
"""Variables that unmodified activation scripts export."""
_LONGEST_SCRIPT = 100_000


class ExposedPaths(NamedTuple):
    """Files and folders that programs may read, except for some files in those folders."""

    read: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    def paths(self) -> Iterator[Path]:
        """Yield readable paths for sandboxes that cannot hide files in a readable folder."""
        for path in self.read:
            yield from _exclude_hidden(path, self.hidden)


def join(exposures: Iterable[ExposedPaths]) -> ExposedPaths:
    """Merge exposures; each path appears once."""
    exposures = list(exposures)
    read = dict.fromkeys(path for exposure in exposures for path in exposure.read)
    hidden = dict.fromkeys(path for exposure in exposures for path in exposure.hidden)
    return ExposedPaths(tuple(read), tuple(hidden))


def expose_installation(prefix: Path) -> ExposedPaths:
    """Return the readable files of a virtual environment, a conda environment or an application."""
    names = _OF_MIXED if Path.home().is_relative_to(prefix) else _PARTS
    parts = [*map(prefix.joinpath, names), *sorted(prefix.glob("*-linux-gnu"))]
    return ExposedPaths(tuple(filter(Path.exists, parts)), tuple(_find_secrets(prefix / "bin")))


def expose_python(prefix: Path) -> ExposedPaths:
    """Return the files of an environment, and of the installation that its Python leads to."""
    base = Path(os.path.realpath(prefix / "bin" / "python")).parent.parent
    prefixes = [prefix, Path(os.path.realpath(prefix))] if is_environment(prefix) else []
    if any(base.glob("lib*/py*/os.py")):  # a program may have written the link
        prefixes.append(base)
    return join(map(expose_installation, dict.fromkeys(prefixes)))


def is_environment(prefix: Path) -> bool:
    """Return whether a folder is a virtual environment or one of conda."""
    return (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir()


def select_readable_folders(search_path: str, readable: Iterable[Path]) -> str:
    """Return a `PATH` without the folders in which nothing is readable. Blocking.

    A sandbox that denies access does not make a program disappear: a shell would stop at one that
    it cannot execute, rather than search for another one with the same name. If a folder is
    omitted, the system's folders come last, since it may have contained links to their programs.
    """
    prefixes = [f"{os.path.realpath(path)}/" for path in readable]
    entries = search_path.split(os.pathsep)
    folders = []
    for folder in entries:
        real = f"{os.path.realpath(folder)}/"
        if any(real.startswith(prefix) or prefix.startswith(real) for prefix in prefixes):
            folders.append(folder)
    if len(folders) < len(entries):
        folders += os.defpath.split(os.pathsep)
    return os.pathsep.join(dict.fromkeys(folders))


def _find_secrets(programs: Path) -> Iterator[Path]:
    yield from filter(Path.is_file, map(programs.joinpath, _HOOKS))
    for script in map(programs.joinpath, _ACTIVATION):
        try:
            with script.open(errors="replace") as file:
                text = file.read(_LONGEST_SCRIPT)
        except OSError:
            continue
        if not all(map(_EXPORTED.fullmatch, _EXPORT.findall(text))):
            yield script


def _exclude_hidden(path: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    """Yield paths that together are `path` without the hidden files in it."""
    hidden = [each for each in hidden if each.is_relative_to(path)]
    if not hidden:
        yield path
    elif path not in hidden:
        for child in path.iterdir():
            if not child.is_symlink():  # a rule would apply to its target, which may be anywhere
                yield from _exclude_hidden(child, hidden)
