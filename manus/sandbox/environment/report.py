"""Report the user's tools to the run, and at startup to the user: selected, found, hidden."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from manus.config.safety_settings import SandboxSettings
from manus.sandbox.bubblewrap import is_system_path
from manus.sandbox.environment.tools import UserTools, find_user_tools

_PROGRAMS = (
    *("python3", "python", "pytest", "uv", "git", "node", "npm", "cargo", "go", "make", "rg"),
    *("gcc", "g++", "clang", "javac", "rustc", "sqlite3", "psql", "mysql", "duckdb"),
)
_PYTHON_VERSION = re.compile(r"python(\d+\.\d+)$")
_MAX_PROGRAMS = 5


@dataclass(frozen=True)
class ToolReport:
    """The user's tools that programs in a workspace can find."""

    selected: str
    """The environment that is first, such as `Python 3.12.1 in .venv`."""
    programs: tuple[str, ...]
    """Common programs that can be started."""
    hidden: tuple[str, ...]
    """The user's programs that the sandbox hides."""
    problem: str
    """A sentence about an environment that does not work."""
    python: str = ""
    """What `python3` is: the environment, or a path with its version; empty if there is none."""
    has_python: bool = False
    """Whether the workspace selects a Python, which `python_execute` runs."""
    not_installed: tuple[str, ...] = ()
    """Packages in `src` that the selected Python does not find."""

    def describe(self) -> str:
        """Return sentences for the user; empty if there is nothing to report."""
        sentences = [f"First on the PATH: {self.selected}."] if self.selected else []
        if self.hidden:
            hidden = ", ".join(self.hidden)
            sentences.append(f"The sandbox hides {hidden} (`read` under `[sandbox]` shows more).")
        return " ".join(filter(None, [*sentences, self.problem]))


def report_tools(root: Path, settings: SandboxSettings) -> ToolReport:
    """Report the user's tools that programs in a workspace can find. Blocking.

    `root` is the real path of the workspace.
    """
    tools = find_user_tools(root, os.environ)
    path = tools.apply_to(os.environ)["PATH"]
    hidden = [] if settings.kind == "none" else _find_hidden(tools, settings)
    programs = tuple(name for name in _PROGRAMS if _is_found(name, path, hidden))
    python = _describe_python(tools, path)
    return ToolReport(
        tools.label,
        programs,
        _list(hidden),
        tools.problem,
        python,
        tools.python is not None,
        tuple(_find_not_installed(root, tools.prefix)),
    )


def _find_not_installed(root: Path, prefix: Path | None) -> list[str]:
    """Return the packages in `src` that are neither copied into an environment nor linked to it."""
    packages = sorted(path.parent.name for path in root.glob("src/*/__init__.py"))
    installed: set[str] = set()
    for folder in prefix.glob("lib/python*/site-packages") if prefix else ():
        installed |= {path.stem for path in folder.iterdir()}
        links = [path.read_text(errors="replace") for path in folder.glob("*.pth")]
        links += [path.read_text(errors="replace") for path in folder.glob("__editable__*.py")]
        if any(str(root / "src") in text for text in links):
            return []
    return [name for name in packages if name not in installed]


def _is_found(name: str, search_path: str, hidden: Collection[Path]) -> bool:
    """Return whether a program is in a folder of the `PATH`, and not hidden there."""
    found = (shutil.which(name, path=folder) for folder in search_path.split(os.pathsep))
    return any(program and Path(program) not in hidden for program in found)


def _describe_python(tools: UserTools, path: str) -> str:
    """Return the version and path of `python3` on the `PATH`; empty if there is none."""
    program = shutil.which("python3", path=path)
    if program is None or (tools.prefix and Path(program).parent == tools.prefix / "bin"):
        return tools.label if program else ""
    version = _PYTHON_VERSION.search(os.path.realpath(program))
    return f"{program} ({version[1]})" if version else program


def _find_hidden(tools: UserTools, settings: SandboxSettings) -> list[Path]:
    """Return the user's programs that the sandbox hides; never what the settings show."""
    shown = [Path(each).expanduser() for each in settings.read]
    return [
        path
        for path in tools.exposure.hidden
        if os.access(path, os.X_OK)
        and not is_system_path(path)
        and not any(map(path.is_relative_to, shown))
    ]


def _list(hidden: Sequence[Path]) -> tuple[str, ...]:
    omitted = hidden[_MAX_PROGRAMS:]
    more = (f"{len(omitted)} more, as in {omitted[0].parent}",) if omitted else ()
    return (*map(str, hidden[:_MAX_PROGRAMS]), *more)
