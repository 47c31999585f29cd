"""Select the user's tools for a workspace, as the user's own terminal would.

The order is: an active virtual environment in the workspace, the workspace's `.venv`, another
active one, poetry's for this project, the versions that the project's files request, and last the
globally active one (conda's `base`, the environment of manus itself). All functions are blocking.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from manus.execution.environment.exposure import (
    Exposure,
    expose_environment,
    find_home_secrets,
    join,
)
from manus.execution.environment.installed import Installation, VersionManagers
from manus.execution.environment.python import (
    PythonEnvironment,
    expose_python,
    find_poetry_environment,
    read_environment,
)
from manus.execution.environment.version_files import VersionRequest, read_file, read_requests
from manus.execution.safe_open import open_file
from manus.execution.sandbox.interpreter import get_own_prefixes

_NAME = re.compile(r"[\w.+-]+")
_SHORT = re.compile(r"[\w.+*/@-]{1,40}")
_BROWSER = re.compile(r"(chromium|firefox|webkit|ffmpeg)[\w.]*-\d+")
"""A browser of Playwright: `chromium-1208`, `chromium_headless_shell-1208`, `ffmpeg-1011`."""
_ROOTS = ("pyenv", "asdf", "volta")
_NOTHING = Exposure()
_ROOT_VARIABLES = {"pyenv": "PYENV_ROOT", "asdf": "ASDF_DATA_DIR", "volta": "VOLTA_HOME"}
"""Variables from which managers find their versions, since `$HOME` differs in a sandbox."""


@dataclass(frozen=True)
class Tool:
    """A selected version of a tool, or environment."""

    label: str
    """Such as `Python 3.12.1 in .venv`."""
    programs: tuple[Path, ...]
    """Folders for the `PATH`."""
    exposure: Exposure
    python: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UserTools:
    """The selected tools of a workspace, in the order of the `PATH`."""

    tools: tuple[Tool, ...] = ()
    behind_shims: Mapping[Path, tuple[Tool, ...]] = field(default_factory=dict)
    """The tools that shims start, by shim folder."""
    exposure: Exposure = _NOTHING
    variables: Mapping[str, str] = field(default_factory=dict)
    environments: tuple[PythonEnvironment, ...] = ()
    problems: tuple[str, ...] = ()
    """Sentences about selected tools that cannot be used."""

    @property
    def python(self) -> Path | None:
        """Return the interpreter of the workspace; None if nothing selects one."""
        return next((tool.python for tool in self.tools if tool.python), None)

    def apply_to(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return environment variables with these tools first on the `PATH`."""
        path = _program_folders(self.tools)
        for entry in environment.get("PATH", os.defpath).split(os.pathsep):
            path += _program_folders(self.behind_shims.get(Path(entry), ()))
            path.append(entry)
        return {**environment, **self.variables, "PATH": os.pathsep.join(dict.fromkeys(path))}


def _program_folders(tools: Iterable[Tool]) -> list[str]:
    folders: list[str] = []
    for tool in tools:
        folders += map(str, tool.programs)
    return folders


def find_user_tools(workspace: Path, environ: Mapping[str, str]) -> UserTools:
    """Select the tools of a workspace, given the environment variables of manus."""
    return _Finder(workspace, environ).find()


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


class _Finder:
    """The selection of the tools of one workspace."""

    def __init__(self, workspace: Path, environ: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._environ = environ
        self._home = Path.home()
        self._managers = VersionManagers(self._home, environ)
        self._own = set(map(os.path.realpath, get_own_prefixes()))
        self._tools: dict[tuple[Path, ...], Tool] = {}
        self._environments: list[PythonEnvironment] = []
        self._problems: list[str] = []

    def find(self) -> UserTools:
        self._add_environments()
        shims = self._find_shim_tools()
        tools = tuple(self._tools.values())
        variables: dict[str, str] = {}
        for name in _ROOTS:
            root: Path = getattr(self._managers, name)
            if root.is_dir():
                variables[_ROOT_VARIABLES[name]] = str(root)
        for tool in reversed(tools):
            variables.update(tool.variables)
        browsers = find_playwright_browsers(self._home, self._environ)
        read = (*find_user_packages(self._home), *browsers)
        shared = Exposure(read, tuple(find_home_secrets(self._home)))
        used = list(tools)
        for tools_of_shims in shims.values():
            used += tools_of_shims
        return UserTools(
            tools,
            shims,
            join([*(tool.exposure for tool in used), shared]),
            variables,
            tuple(self._environments),
            tuple(dict.fromkeys(self._problems)),
        )

    def _add_environments(self) -> None:
        active = list(self._iterate_active())
        inside = []
        everywhere = []
        for prefix, origin in active:
            if self._is_inside(prefix):
                inside.append((prefix, origin))
            elif self._is_everywhere(prefix):
                everywhere.append((prefix, origin))
        for prefix, origin in inside:
            self._add_environment(prefix, origin)
        if workspace_prefix := self._find_workspace_environment():
            self._add_environment(workspace_prefix, ".venv")
        for prefix, origin in active:
            if (prefix, origin) not in [*inside, *everywhere]:
                self._add_environment(prefix, origin)
        cache = self._environ.get("POETRY_CACHE_DIR")
        if poetry_prefix := find_poetry_environment(self._workspace, self._home, cache):
            self._add_environment(poetry_prefix, "poetry")
        for request in self._iterate_requests():
            self._add_versions(request)
        for prefix, origin in everywhere:
            self._add_environment(prefix, origin)

    def _iterate_active(self) -> Iterator[tuple[Path, str]]:
        """Yield the active environments, and the variables that name them."""
        for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            if value := self._environ.get(variable):
                prefix = Path(value).absolute()
                real = Path(os.path.realpath(value))
                is_inside = real.is_relative_to(self._workspace)
                yield real if is_inside else prefix, variable

    def _is_inside(self, prefix: Path) -> bool:
        return prefix.is_relative_to(self._workspace)

    def _is_everywhere(self, prefix: Path) -> bool:
        """Return whether an environment is globally active, not selected for this workspace."""
        if self._is_inside(prefix):
            return False
        return os.path.realpath(prefix) in self._own or (prefix / "condabin").is_dir()

    def _find_workspace_environment(self) -> Path | None:
        """Return the workspace's `.venv`: a folder, a link to one, or the one that a file names."""
        path = self._workspace / ".venv"
        if path.is_dir() or path.is_symlink():
            return path
        if not path.exists():
            return None
        try:
            with open_file(path) as file:
                name = file.read(4096).decode("utf-8", "replace").strip()
        except OSError:
            return None
        if name.startswith("/"):
            return Path(os.path.normpath(name))
        if not _NAME.fullmatch(name):
            return None
        return self._home / ".virtualenvs" / name

    def _add_environment(self, prefix: Path, origin: str) -> None:
        environment = read_environment(prefix)
        if environment is None:
            self._problems.append(f"`{origin}` is not a virtual environment ({prefix}).")
        elif fault := environment.find_fault():
            self._problems.append(f"The environment {prefix} is not used: {fault}.")
        else:
            self._add(self._build_tool(environment, origin))
            self._environments.append(environment)

    def _build_tool(self, environment: PythonEnvironment, origin: str) -> Tool:
        prefix = environment.prefix
        variables = {"VIRTUAL_ENV": str(prefix)}
        if environment.is_conda:
            name = self._environ.get("CONDA_DEFAULT_ENV") or prefix.name
            variables = {"CONDA_PREFIX": str(prefix), "CONDA_DEFAULT_ENV": name}
        location = prefix
        if self._is_inside(prefix):
            location = prefix.relative_to(self._workspace)
        return Tool(
            f"Python {environment.version}".rstrip() + f" in {location} ({origin})",
            (prefix / "bin",),
            expose_python(environment, self._workspace),
            None if self._is_own_and_elsewhere(prefix) else environment.python,
            variables,
        )

    def _is_own_and_elsewhere(self, prefix: Path) -> bool:
        """Return whether it is manus's own environment, outside this workspace."""
        return not self._is_inside(prefix) and os.path.realpath(prefix) in self._own

    def _iterate_requests(self) -> Iterator[VersionRequest]:
        """Yield the versions requested by the user's shell, then by the project's files."""
        shell = self._environ.get("PYENV_VERSION", "")
        if shell:
            yield VersionRequest("python", tuple(shell.split(":")), "PYENV_VERSION")
        for request in read_requests(self._workspace):
            if not (shell and request.tool == "python"):
                yield request

    def _add_versions(self, request: VersionRequest) -> None:
        installations = [self._managers.find(request.tool, version) for version in request.versions]
        for installation in filter(None, installations):
            self._add(self._build_installed_tool(installation, request.file))
        requested = request.versions[0]
        is_shown = _SHORT.fullmatch(requested) and _SHORT.fullmatch(request.tool)
        if not any(installations) and is_shown and not self._is_on_path(request.tool, requested):
            self._problems.append(
                f"`{request.file}` requests {request.tool} {requested}, which is not installed."
            )

    def _is_on_path(self, tool: str, version: str) -> bool:
        """Return whether another tool satisfies the request."""
        if tool != "python":
            return False
        short = ".".join(version.split(".")[:2])
        return any(t.python for t in self._tools.values()) or bool(shutil.which(f"python{short}"))

    def _build_installed_tool(self, installation: Installation, origin: str) -> Tool:
        prefix = installation.prefix
        programs = tuple(installation.programs)
        python = prefix / "bin" / "python" if installation.tool == "python" else None
        environment = read_environment(prefix)
        if python and environment and not environment.is_conda:  # from pyenv-virtualenv
            exposure = expose_python(environment, self._workspace)
        else:
            exposure = expose_environment(Path(os.path.realpath(prefix)))
            exposure = join([expose_environment(prefix), exposure])
        name = "Python" if python else installation.tool
        return Tool(f"{name} {installation.version} ({origin})", programs, exposure, python)

    def _add(self, tool: Tool) -> None:
        self._tools.setdefault(tool.programs, tool)

    def _find_shim_tools(self) -> dict[Path, tuple[Tool, ...]]:
        """Return the tools that shims on the `PATH` start by default.

        A shim searches the user's home, which a sandbox hides.
        """
        managers = self._managers
        home = self._home
        config = Path(self._environ.get("XDG_CONFIG_HOME") or home / ".config")
        files = {
            managers.pyenv / "shims": managers.pyenv / "version",
            managers.asdf / "shims": home / ".tool-versions",
            managers.mise / "shims": config / "mise/config.toml",
        }
        on_path = set(self._environ.get("PATH", "").split(os.pathsep))
        behind = {}
        for shims, file in files.items():
            if str(shims) in on_path:
                requests = read_file(file)
                behind[shims] = tuple(self._iterate_shim_tools(requests, file.name))
        return behind

    def _iterate_shim_tools(
        self, requests: Iterable[VersionRequest], origin: str
    ) -> Iterator[Tool]:
        for request in requests:
            for version in request.versions:
                installation = self._managers.find(request.tool, version)
                if installation is not None:
                    yield self._build_installed_tool(installation, origin)
