"""What a run is told of the user's tools, and its user at startup: selected, found, hidden."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from manus.config.safety_settings import SandboxSettings
from manus.execution.environment.python import editable_sources
from manus.execution.environment.selection import UserTools, find_user_tools
from manus.execution.sandbox import bubblewrap

_PROGRAMS = (
    *("python3", "python", "pytest", "uv", "git", "node", "npm", "cargo", "go", "make", "rg"),
)
_MOST_SOURCES = 5
_MOST_PROGRAMS = 5


@dataclass(frozen=True)
class ToolReport:
    """The user's tools as programs in a workspace find them."""

    selected: tuple[str, ...]
    """What the workspace works with, such as `Python 3.12.1 in .venv (.venv)`."""
    programs: tuple[str, ...]
    """The usual programs that can be started."""
    hidden: tuple[str, ...]
    """Folders of the user's programs and packages, and programs, that the sandbox does not show."""
    problems: tuple[str, ...]
    """Sentences on what was selected and does not work."""

    def in_words(self) -> str:
        """Return sentences for the user; empty if there is nothing to say."""
        said = []
        if self.selected:
            said.append(f"First on the PATH: {', '.join(self.selected)}.")
        if self.hidden:
            hidden = ", ".join(self.hidden)
            said.append(f"The sandbox hides {hidden} (`read` under `[sandbox]` shows more).")
        return " ".join([*said, *self.problems])


def report_tools(root: Path, settings: SandboxSettings) -> ToolReport:
    """Return what programs in a workspace find of the user's tools. Blocking.

    `root` is the real path of the workspace.
    """
    tools = find_user_tools(root, os.environ)
    path = tools.applied(os.environ)["PATH"].split(os.pathsep)
    hidden = [] if settings.kind == "none" else _hidden(root, settings, tools, path)
    found = set().union(*(_programs_in(folder) for folder in path if folder not in hidden))
    return ToolReport(
        tuple(dict.fromkeys(tool.label for tool in tools.tools)),
        tuple(name for name in _PROGRAMS if name in found),
        tuple(hidden),
        tools.problems,
    )


def _hidden(root: Path, settings: SandboxSettings, tools: UserTools, path: list[str]) -> list[str]:
    read = [root, *(Path(each).expanduser() for each in settings.read), *tools.exposure.read]
    folders = [folder for folder in path if _programs_in(folder)]
    hidden = bubblewrap.unseen(dict.fromkeys([*folders, *_sources(tools)]), read)
    programs = bubblewrap.unseen_programs(read)
    if more := programs[_MOST_PROGRAMS:]:
        folder = Path(more[0]).parent
        return [*hidden, *programs[:_MOST_PROGRAMS], f"{len(more)} more programs as in {folder}"]
    return [*hidden, *programs]


def _sources(tools: UserTools) -> Iterator[str]:
    """Yield the folders of packages that are installed in place."""
    for environment in tools.environments:
        sources = [path for path in editable_sources(environment) if path.is_dir()]
        yield from map(str, sources[:_MOST_SOURCES])


def _programs_in(folder: str) -> frozenset[str]:
    """Return those of the usual programs that are in a folder of the path."""
    try:
        return _found_in(folder, Path(folder).stat().st_mtime_ns)
    except OSError:
        return frozenset()


@lru_cache(256)
def _found_in(folder: str, _changed: int) -> frozenset[str]:
    return frozenset(name for name in _PROGRAMS if shutil.which(name, path=folder))
