"""Which files of an environment programs may read: its programs and libraries, none of its keys.

People keep secrets beside them: the address of a package index with a password in `pip.conf`,
tokens in `.condarc` and `npmrc`, exported keys in an activation script. All of it is blocking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
"""Names in an environment that is shown as a whole; `make setup` leaves the last two."""
_SYSROOT = "*-linux-gnu"
"""Headers and libraries that conda's compilers work with."""

_HOOKS = ("preactivate", "postactivate", "predeactivate", "postdeactivate")
"""Scripts of virtualenvwrapper, which people export their keys in."""
_ACTIVATION = ("activate", "activate.csh", "activate.fish")
_EXPORT = re.compile(r"^\s*(?:export|setenv|set\s+-\w*x\w*)\s+(\w+)", re.MULTILINE)
_EXPORTED = re.compile(
    "PATH|PS1|PYTHONHOME|VIRTUAL_ENV(_PROMPT)?|PKG_CONFIG_PATH|T(CL|K)_LIBRARY|_OLD_[A-Z_]+"
)
"""What activation scripts export as they are made."""
_LONGEST_SCRIPT = 100_000

_SECRETS_IN_HOME = (
    *(".pyenv/versions/*/pip.conf", ".pyenv/versions/*/envs/*/pip.conf"),
    *(".asdf/installs/*/*/pip.conf", ".local/share/mise/installs/*/*/pip.conf"),
    *(".asdf/installs/*/*/etc/npmrc", ".local/share/mise/installs/*/*/etc/npmrc"),
    *(".nvm/versions/node/*/etc/npmrc", ".volta/tools/image/node/*/etc/npmrc"),
    ".local/share/fnm/node-versions/*/installation/etc/npmrc",
)
"""Files of secrets below folders that programs see as a whole."""


class Exposure(NamedTuple):
    """Files and folders that programs may read, and files in those folders that they may not."""

    read: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    def paths(self) -> Iterator[Path]:
        """Yield what can be read, where nothing can be hidden in a folder that can be read."""
        for path in self.read:
            yield from _without(path, [each for each in self.hidden if each.is_relative_to(path)])


def join(exposures: Iterable[Exposure]) -> Exposure:
    """Return one exposure with everything in the others, each path once."""
    read: dict[Path, None] = {}
    hidden: dict[Path, None] = {}
    for exposure in exposures:
        read.update(dict.fromkeys(exposure.read))
        hidden.update(dict.fromkeys(exposure.hidden))
    return Exposure(tuple(read), tuple(hidden))


def expose_environment(prefix: Path) -> Exposure:
    """Return the readable files of a virtual environment, a conda environment or an installation.

    It is one folder where nothing else is in it: each mount costs every program a millisecond.
    """
    if _is_home(prefix):
        return expose_libraries(prefix)
    hidden = tuple(_secret_scripts(prefix / "bin"))
    try:
        names = {path.name for path in prefix.iterdir()}
    except OSError:
        return Exposure()
    if _HARMLESS.issuperset(names):
        return Exposure((prefix,), hidden)
    parts = [prefix / name for name in _PARTS]
    parts += sorted(prefix.glob(_SYSROOT))
    return Exposure(tuple(path for path in parts if path.exists()), hidden)


def expose_libraries(prefix: Path) -> Exposure:
    """Return the programs and libraries in a folder that may hold much else, such as `~/.local`."""
    parts = (prefix / name for name in _LIBRARIES)
    hidden = tuple(_secret_scripts(prefix / "bin"))
    return Exposure(tuple(path for path in parts if path.exists()), hidden)


def secrets_in_home(home: Path) -> list[Path]:
    """Return the files of secrets among what people install below their home to program with."""
    return [path for pattern in _SECRETS_IN_HOME for path in home.glob(pattern)]


def _is_home(prefix: Path) -> bool:
    """Return whether a folder holds the user's other things besides."""
    home = Path.home()
    return home.is_relative_to(prefix) or prefix == home / ".local"


def _secret_scripts(programs: Path) -> Iterator[Path]:
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


def _without(path: Path, hidden: list[Path]) -> Iterator[Path]:
    """Yield paths that together are `path` without the hidden files in it."""
    if not hidden:
        yield path
    elif path not in hidden:
        for below in path.iterdir():
            if below.is_symlink():
                continue  # a rule would hold for the file that it leads to, wherever that is
            yield from _without(below, [each for each in hidden if each.is_relative_to(below)])
