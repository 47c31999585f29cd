"""Select the files of an environment that programs may read: its programs and libraries.

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

_LIBRARIES = ("bin", "lib", "lib32", "lib64", "include")
_PARTS = (
    *_LIBRARIES,
    *("libexec", "sbin", "share", "ssl", "condabin", "compiler_compat", "pyvenv.cfg", "etc/fonts"),
)
_HARMLESS = frozenset(
    (*_PARTS, ".gitignore", ".lock", ".project", "CACHEDIR.TAG", ".place", ".setup")
)
"""Names in an environment that may be exposed as a whole; `make setup` creates the last two."""
_SYSROOT = "*-linux-gnu"
"""Headers and libraries of conda's compilers."""

_HOOKS = ("preactivate", "postactivate", "predeactivate", "postdeactivate")
"""Scripts of virtualenvwrapper, in which users export keys."""
_ACTIVATION = ("activate", "activate.csh", "activate.fish")
_EXPORT = re.compile(r"^\s*(?:export|setenv|set\s+-\w*x\w*)\s+(\w+)", re.MULTILINE)
_EXPORTED = re.compile(
    "PATH|PS1|PYTHONHOME|VIRTUAL_ENV(_PROMPT)?|PKG_CONFIG_PATH|T(CL|K)_LIBRARY|_OLD_[A-Z_]+"
)
"""Variables that unmodified activation scripts export."""
_LONGEST_SCRIPT = 100_000

_SECRETS_IN_HOME = (
    *(".pyenv/versions/*/pip.conf", ".pyenv/versions/*/envs/*/pip.conf"),
    *(".asdf/installs/*/*/pip.conf", ".local/share/mise/installs/*/*/pip.conf"),
    *(".asdf/installs/*/*/etc/npmrc", ".local/share/mise/installs/*/*/etc/npmrc"),
    *(".nvm/versions/node/*/etc/npmrc", ".volta/tools/image/node/*/etc/npmrc"),
    ".local/share/fnm/node-versions/*/installation/etc/npmrc",
)
"""Files with secrets in folders that are exposed as a whole."""


class Exposure(NamedTuple):
    """Files and folders that programs may read, except for some files in those folders."""

    read: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    def paths(self) -> Iterator[Path]:
        """Yield readable paths for sandboxes that cannot hide files in a readable folder."""
        for path in self.read:
            yield from _exclude_hidden(path, self.hidden)


def join(exposures: Iterable[Exposure]) -> Exposure:
    """Merge exposures; each path appears once."""
    read: dict[Path, None] = {}
    hidden: dict[Path, None] = {}
    for exposure in exposures:
        read.update(dict.fromkeys(exposure.read))
        hidden.update(dict.fromkeys(exposure.hidden))
    return Exposure(tuple(read), tuple(hidden))


def expose_environment(prefix: Path) -> Exposure:
    """Return the readable files of a virtual environment, a conda environment or an installation.

    A folder that contains nothing else is returned as a whole, since each mount costs every program
    a millisecond.
    """
    if _is_home(prefix):
        return expose_libraries(prefix)
    hidden = tuple(_find_secret_scripts(prefix / "bin"))
    try:
        names = {path.name for path in prefix.iterdir()}
    except OSError:
        return Exposure()
    if _HARMLESS.issuperset(names):
        return Exposure((prefix,), hidden)
    parts = [*map(prefix.joinpath, _PARTS), *sorted(prefix.glob(_SYSROOT))]
    return Exposure(tuple(filter(Path.exists, parts)), hidden)


def expose_libraries(prefix: Path) -> Exposure:
    """Return the programs and libraries in a folder with other content, such as `~/.local`."""
    parts = map(prefix.joinpath, _LIBRARIES)
    hidden = tuple(_find_secret_scripts(prefix / "bin"))
    return Exposure(tuple(filter(Path.exists, parts)), hidden)


def find_home_secrets(home: Path) -> list[Path]:
    """Return the files with secrets in the installations of developer tools in a home folder."""
    secrets: list[Path] = []
    for pattern in _SECRETS_IN_HOME:
        secrets += home.glob(pattern)
    return secrets


def select_readable_folders(search_path: str, readable: Iterable[Path]) -> str:
    """Return a `PATH` without the folders in which nothing is readable. Blocking.

    A sandbox that denies access does not make a program disappear: a shell would stop at one that
    it cannot execute, rather than search for another one with the same name. If a folder is
    omitted, the system's folders come last, since it may have contained links to their programs.
    """
    prefixes = [f"{os.path.realpath(path)}/" for path in readable]
    given = search_path.split(os.pathsep)
    folders = []
    for folder in given:
        real = f"{os.path.realpath(folder)}/"
        if any(real.startswith(prefix) or prefix.startswith(real) for prefix in prefixes):
            folders.append(folder)
    if len(folders) < len(given):
        folders += os.defpath.split(os.pathsep)
    return os.pathsep.join(dict.fromkeys(folders))


def _is_home(prefix: Path) -> bool:
    """Return whether a folder contains other files of the user."""
    home = Path.home()
    return home.is_relative_to(prefix) or prefix == home / ".local"


def _find_secret_scripts(programs: Path) -> Iterator[Path]:
    for name in _HOOKS:
        if (programs / name).is_file():
            yield programs / name
    for name in _ACTIVATION:
        try:
            with (programs / name).open(errors="replace") as file:
                script = file.read(_LONGEST_SCRIPT)
        except OSError:
            continue
        if not all(map(_EXPORTED.fullmatch, _EXPORT.findall(script))):
            yield programs / name


def _exclude_hidden(path: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    """Yield paths that together are `path` without the hidden files in it."""
    hidden = [each for each in hidden if each.is_relative_to(path)]
    if not hidden:
        yield path
    elif path not in hidden:
        for child in path.iterdir():
            if child.is_symlink():
                continue  # a rule would apply to the target of the link, which may be anywhere
            yield from _exclude_hidden(child, hidden)
