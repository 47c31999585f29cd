"""The user's tools: the active environment, and the programs on the `PATH` of manus.

The order is that of the user's terminal, with the workspace's `.venv` first. Nothing is resolved:
a version manager's own shims choose the version, and their folder is visible. All functions are
blocking.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from manus.sandbox.environment.exposure import (
    ExposedPaths,
    expose_installation,
    expose_python,
    is_environment,
    join,
)
from manus.sandbox.interpreter import get_own_prefixes

_ROOTS = {
    ".pyenv": "PYENV_ROOT",
    ".rbenv": "RBENV_ROOT",
    ".nodenv": "NODENV_ROOT",
    ".asdf": "ASDF_DATA_DIR",
    ".volta": "VOLTA_HOME",
    ".nvm/versions": "",
    ".local/share/mise": "MISE_DATA_DIR",
    ".local/share/fnm": "FNM_DIR",
    ".local/share/pnpm": "PNPM_HOME",
    ".cargo/bin": "",
    ".rustup": "RUSTUP_HOME",
    "go/bin": "",
    ".bun/bin": "",
    ".deno/bin": "",
    ".sdkman/candidates": "",
    ".juliaup": "",
    ".ghcup/bin": "",
}
"""Folders of developer tools in the home, and the variable that names each, since `$HOME` differs
in a sandbox. One is visible if the `PATH` leads into it."""
_BEHIND = {".cargo/bin": ".rustup"}
"""Folders that the programs of others need."""
_SECRETS = (
    *("versions/*/pip.conf", "versions/*/envs/*/pip.conf", "installs/*/*/pip.conf"),
    *("installs/*/*/etc/npmrc", "node/*/etc/npmrc", "tools/image/node/*/etc/npmrc"),
    "node-versions/*/installation/etc/npmrc",
)
"""Files with secrets in these folders."""
_REHASH = "pyenv.d/exec/pip-rehash"
"""Programs of pyenv that fail after `pip install`, since they write to its own folder."""
_OPT = Path("/opt")
_SYSTEM_LINKS = ("/usr/bin", "/usr/local/bin", "/etc/alternatives")
_BROWSER = re.compile(r"(chromium|firefox|webkit|ffmpeg)[\w.]*-\d+")
"""A browser of Playwright: `chromium-1208`, `chromium_headless_shell-1208`, `ffmpeg-1011`."""
_VERSION = re.compile(r"(?m)^version(?:_info)?\s*=\s*(\d+(?:\.\d+)*)")
_SYSTEM = ("/usr", "/bin", "/sbin")
_LONGEST_STARTER = 1_000
_STARTER = re.compile(
    rb"#!.*python.*\n(?:.*coding.*\n)?(?:import (?:re|sys)\n)*\s*from [\w.]+ import \w+\s.*"
    rb"sys\.exit\([\w.]+\(\)\)\s*",
    re.DOTALL,
)
"""A script that pip or uv has written for the entry point of a package."""


_NOTHING = ExposedPaths()


@dataclass(frozen=True)
class UserTools:
    """The tools of one workspace."""

    label: str = ""
    """The environment that is first, such as `Python 3.12.1 in .venv`; empty if there is none."""
    prefix: Path | None = None
    """Its folder."""
    python: Path | None = None
    """Its interpreter, unless it is manus's own."""
    exposure: ExposedPaths = _NOTHING
    """What programs may read."""
    variables: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    """Why the workspace's environment cannot be used."""

    def apply_to(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return environment variables with these tools first on the `PATH`."""
        path = environment.get("PATH", os.defpath).split(os.pathsep)
        if self.prefix is not None:
            path.insert(0, str(self.prefix / "bin"))
        return {**environment, **self.variables, "PATH": os.pathsep.join(dict.fromkeys(path))}


def find_user_tools(workspace: Path, environ: Mapping[str, str]) -> UserTools:
    """Return the tools of a workspace, given the environment variables of manus."""
    home = Path.home()
    prefix, problem = _select_environment(workspace, environ)
    parts = [_expose_path(environ.get("PATH", os.defpath), home, workspace)]
    parts += [expose_installation(path) for path in get_own_prefixes()]
    parts.append(
        ExposedPaths((*find_user_packages(home), *find_playwright_browsers(home, environ)))
    )
    variables = {}
    for folder, variable in _ROOTS.items():
        if variable and (home / folder).is_dir():
            variables[variable] = environ.get(variable) or str(home / folder)
    if prefix is None:
        return UserTools(exposure=join(parts), variables=variables, problem=problem)
    is_inside = prefix.is_relative_to(workspace)
    exposure = expose_python(prefix)
    outside = [path for path in exposure.read if not path.is_relative_to(workspace)]
    parts.append(ExposedPaths(tuple(outside), () if is_inside else exposure.hidden))
    is_conda = (prefix / "conda-meta").is_dir()
    variables["CONDA_PREFIX" if is_conda else "VIRTUAL_ENV"] = str(prefix)
    own = {os.path.realpath(path) for path in get_own_prefixes()}
    is_own = os.path.realpath(prefix) in own and not is_inside
    version = _VERSION.search(_read(prefix / "pyvenv.cfg").decode("utf-8", "replace"))
    place = prefix.relative_to(workspace) if is_inside else prefix
    label = f"Python {version[1] if version else ''}".rstrip() + f" in {place}"
    python = None if is_own else prefix / "bin" / "python"
    return UserTools(label, prefix, python, join(parts), variables, problem)


def _select_environment(workspace: Path, environ: Mapping[str, str]) -> tuple[Path | None, str]:
    """Return the workspace's `.venv`, else the active environment; and what is wrong with it."""
    problem = ""
    active = [environ[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environ.get(name)]
    for prefix in (workspace / ".venv", *map(Path, active)):
        if not os.path.lexists(prefix):
            continue
        if is_environment(prefix) and os.access(prefix / "bin" / "python", os.X_OK):
            real = Path(os.path.realpath(prefix))
            return (real if real.is_relative_to(workspace) else prefix.absolute()), problem
        problem = problem or f"The environment {prefix} is not used: its Python does not start."
    return None, problem


@functools.cache
def _expose_path(search_path: str, home: Path, workspace: Path) -> ExposedPaths:
    """Return what the folders of a `PATH` lead to."""
    parts: list[ExposedPaths] = []
    for entry in dict.fromkeys(search_path.split(os.pathsep)):
        for folder in dict.fromkeys((Path(entry), Path(os.path.realpath(entry)))):
            is_known = any(folder.is_relative_to(each) for each in (*_SYSTEM, workspace))
            if is_known or not folder.is_absolute() or not os.access(folder, os.R_OK | os.X_OK):
                continue  # the user may not read it: it is another user's, or gone
            if folder.is_dir():
                parts.append(_expose_folder(folder, home))
    parts += [_expose_target(target) for target in _iterate_targets_in_opt()]
    return join(parts)


def _iterate_targets_in_opt() -> Iterator[Path]:
    """Yield the programs in `/opt` that links in the system's folders lead to."""
    for folder in _SYSTEM_LINKS:
        for link in os.scandir(folder) if Path(folder).is_dir() else ():
            with contextlib.suppress(OSError):  # a package manager has just replaced it
                # hundreds of links; resolving one costs more than reading it
                if link.is_symlink() and "opt/" in os.readlink(link.path):  # noqa: PTH115
                    target = Path(os.path.realpath(link.path))
                    if target.is_relative_to(_OPT):
                        yield target


def _expose_target(target: Path) -> ExposedPaths:
    """Return what a program that a link leads to needs: its installation, or itself."""
    if target.parent.name in ("bin", "sbin") and not Path.home().is_relative_to(target.parents[1]):
        prefix = target.parent.parent
        return expose_python(prefix) if is_environment(prefix) else expose_installation(prefix)
    return ExposedPaths((target,)) if is_installed(target) else ExposedPaths()


def _expose_folder(folder: Path, home: Path) -> ExposedPaths:
    for name in _ROOTS:
        root = home / name
        if folder.is_relative_to(root):
            roots = filter(Path.is_dir, (root, home / _BEHIND.get(name, name)))
            return ExposedPaths(tuple(dict.fromkeys(roots)), tuple(_find_secrets(root)))
    if folder.name in ("bin", "sbin", "condabin") and folder.parent not in (home, home / ".local"):
        return expose_installation(folder.parent)
    return _expose_mixed(folder)


def _expose_mixed(folder: Path) -> ExposedPaths:
    """Return a folder of programs without the user's own scripts, which may contain keys."""
    hidden = []
    parts = []
    for program in sorted(folder.iterdir()):
        target = Path(os.path.realpath(program))
        if program.is_symlink():
            parts.append(_expose_target(target))
        elif not is_installed(program):
            hidden.append(program)
    return join([ExposedPaths((folder,), tuple(hidden)), *parts])


def is_installed(program: Path) -> bool:
    """Return whether a file is a binary, or an entry point that an installer has written."""
    content = _read(program)
    is_short = len(content) < _LONGEST_STARTER
    return content.startswith(b"\x7fELF") or (is_short and bool(_STARTER.fullmatch(content)))


def _read(path: Path) -> bytes:
    try:
        # opening a pipe must not block
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(_LONGEST_STARTER)
    except OSError:
        return b""


def _find_secrets(root: Path) -> Iterator[Path]:
    """Yield the files with secrets in a folder of developer tools."""
    for pattern in _SECRETS:
        yield from root.glob(pattern)


def find_rehash_programs(environ: Mapping[str, str]) -> Path:
    """Return the folder with pyenv's programs that need its own folder to be writable."""
    return Path(environ.get("PYENV_ROOT") or Path.home() / ".pyenv", _REHASH)


def find_user_packages(home: Path) -> list[Path]:
    """Return the folders of packages installed with `pip install --user`."""
    return sorted(home.glob(".local/lib/python3*/site-packages"))


def find_playwright_browsers(home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the folders of the browsers installed with `playwright install`.

    Other folders there are not included, such as the profile of Playwright's MCP server.
    """
    cache = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    folder = Path(environ.get("PLAYWRIGHT_BROWSERS_PATH") or cache / "ms-playwright")
    if not folder.is_absolute():  # `0` means the folder of the package
        return []
    browsers = (path for path in folder.glob("*-*") if _BROWSER.fullmatch(path.name))
    return sorted(filter(Path.is_dir, browsers))
