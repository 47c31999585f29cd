"""Report the user's tools to the run, and at startup to the user: selected, found, hidden."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from manus.config.safety_settings import SandboxSettings
from manus.execution.environment.tools import UserTools, find_user_tools
from manus.execution.sandbox.bubblewrap import is_system_path

_PROGRAMS = (
    *("python3", "python", "pytest", "uv", "git", "node", "npm", "cargo", "go", "make", "rg"),
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
    programs = tuple(name for name in _PROGRAMS if shutil.which(name, path=path))
    hidden = () if settings.kind == "none" else _list_hidden(tools, settings)
    python = _describe_python(tools, path)
    return ToolReport(
        tools.label, programs, hidden, tools.problem, python, tools.python is not None
    )


def _describe_python(tools: UserTools, path: str) -> str:
    """Return the version and path of `python3` on the `PATH`; empty if there is none."""
    program = shutil.which("python3", path=path)
    if program is None or (tools.prefix and Path(program).parent == tools.prefix / "bin"):
        return tools.label if program else ""
    version = _PYTHON_VERSION.search(os.path.realpath(program))
    return f"{program} ({version[1]})" if version else program


def _list_hidden(tools: UserTools, settings: SandboxSettings) -> tuple[str, ...]:
    shown = [Path(each).expanduser() for each in settings.read]
    hidden = [
        str(path)
        for path in tools.exposure.hidden
        if os.access(path, os.X_OK) and not is_system_path(path) and path not in shown
    ]
    omitted = hidden[_MAX_PROGRAMS:]
    more = (f"{len(omitted)} more, as in {Path(omitted[0]).parent}",) if omitted else ()
    return (*hidden[:_MAX_PROGRAMS], *more)
