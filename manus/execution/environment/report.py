"""Report the user's tools to the run, and at startup to the user: selected, found, hidden."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from manus.config.safety_settings import SandboxSettings
from manus.execution.environment.python import find_editable_sources
from manus.execution.environment.selection import UserTools, find_user_tools
from manus.execution.sandbox import bubblewrap

_PROGRAMS = (
    *("python3", "python", "pytest", "uv", "git", "node", "npm", "cargo", "go", "make", "rg"),
)
_PYTHON = "Python "
_PYTHON_VERSION = re.compile(r"python(\d+\.\d+)$")
_MAX_SOURCES = 5
_MAX_PROGRAMS = 5


@dataclass(frozen=True)
class ToolReport:
    """The user's tools that programs in a workspace can find."""

    selected: tuple[str, ...]
    """The selected tools, such as `Python 3.12.1 in .venv (.venv)`."""
    programs: tuple[str, ...]
    """Common programs that can be started."""
    hidden: tuple[str, ...]
    """The user's programs, and folders of programs and packages, that the sandbox hides."""
    problems: tuple[str, ...]
    """Sentences about selected tools that do not work."""
    python: str = ""
    """What `python3` is: a selected tool, or a path with its version; empty if there is none."""
    has_python: bool = False
    """Whether the workspace selects a Python, which `python_execute` runs."""

    @property
    def others(self) -> list[str]:
        """Return the selected tools except the Python that `python3` is."""
        return [label for label in self.selected if label != self.python]

    def describe(self) -> str:
        """Return sentences for the user; empty if there is nothing to report."""
        sentences = []
        if self.selected:
            sentences.append(f"First on the PATH: {', '.join(self.selected)}.")
        if self.hidden:
            hidden = ", ".join(self.hidden)
            sentences.append(f"The sandbox hides {hidden} (`read` under `[sandbox]` shows more).")
        return " ".join([*sentences, *self.problems])


def report_tools(root: Path, settings: SandboxSettings) -> ToolReport:
    """Report the user's tools that programs in a workspace can find. Blocking.

    `root` is the real path of the workspace.
    """
    tools = find_user_tools(root, os.environ)
    path = tools.apply_to(os.environ)["PATH"].split(os.pathsep)
    hidden = [] if settings.kind == "none" else _find_hidden(root, settings, tools, path)
    available: set[str] = set()
    for folder in path:
        if folder not in hidden:
            available |= _programs_in(folder)
    programs = tuple(filter(available.__contains__, _PROGRAMS))
    labels = dict.fromkeys(tool.label for tool in tools.tools)
    return ToolReport(
        tuple(labels),
        programs,
        tuple(hidden),
        tools.problems,
        _describe_python(tools, [folder for folder in path if folder not in hidden]),
        tools.python is not None,
    )


def _describe_python(tools: UserTools, folders: list[str]) -> str:
    """Return the version and path of `python3` on the `PATH`; empty if there is none."""
    program = shutil.which("python3", path=os.pathsep.join(folders))
    if program is None:
        return ""
    for tool in tools.tools:
        if Path(program).parent in tool.programs and tool.label.startswith(_PYTHON):
            return tool.label
    version = _PYTHON_VERSION.search(os.path.realpath(program))
    return f"{program} ({version[1]})" if version else program


def _find_hidden(
    root: Path, settings: SandboxSettings, tools: UserTools, path: list[str]
) -> list[str]:
    read = [root, *(Path(each).expanduser() for each in settings.read), *tools.exposure.read]
    folders = [folder for folder in path if _programs_in(folder)]
    hidden = bubblewrap.find_hidden(dict.fromkeys([*folders, *_find_sources(tools)]), read)
    programs = bubblewrap.find_hidden_programs(read)
    if omitted := programs[_MAX_PROGRAMS:]:
        folder = Path(omitted[0]).parent
        return [*hidden, *programs[:_MAX_PROGRAMS], f"{len(omitted)} more programs, as in {folder}"]
    return [*hidden, *programs]


def _find_sources(tools: UserTools) -> Iterator[str]:
    """Yield the folders of editable packages."""
    for environment in tools.environments:
        sources = [path for path in find_editable_sources(environment) if path.is_dir()]
        yield from map(str, sources[:_MAX_SOURCES])


def _programs_in(folder: str) -> frozenset[str]:
    """Return the common programs in a folder of the path."""
    try:
        return _available_in(folder, Path(folder).stat().st_mtime_ns)
    except OSError:
        return frozenset()


@lru_cache(256)
def _available_in(folder: str, _changed: int) -> frozenset[str]:
    return frozenset(name for name in _PROGRAMS if shutil.which(name, path=folder))
