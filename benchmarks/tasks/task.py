"""A task: a request, the files that it starts with, and a program that checks the result.

Each task is a folder: `task.toml`, `workspace/`, `check.py`, and `site/` for a task on the web.
`setup` creates what a folder cannot contain, such as a Git history. The check runs in the final
workspace, and exits with 0 or with a sentence that says what is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.miniwob.pages import PagesMissingError, find_pages
from benchmarks.tasks.site import serve

FOLDER = Path(__file__).parent
_GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}
_PATIENCE = 60.0
"""Seconds that a check or a recorded solution may take."""


@dataclass(frozen=True)
class Task:
    """A task. `solution` and the two in `wrong` are shell scripts that verify the check."""

    name: str
    kind: str
    profile: str
    minimum_turns: int
    """Turns of a run without detours: look, act, check, answer, and one for each page to visit."""
    instruction: str
    solution: str
    wrong: tuple[str, ...]
    setup: str = ""
    """A shell script that prepares the workspace."""
    page: str = ""
    """A page of MiniWoB++ that is served as its site."""

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def missing(self) -> str:
        """Return what must be installed for the task; empty if it can start."""
        if not self.page:
            return ""
        try:
            find_pages()
        except PagesMissingError as error:
            return str(error)
        return ""


@dataclass(frozen=True)
class Attempt:
    """A task in progress."""

    task: Task
    workspace: Path
    site: str

    @property
    def instruction(self) -> str:
        return self.task.instruction.replace("{site}", self.site).strip()

    def run(self, script: str) -> None:
        """Run a recorded solution."""
        subprocess.run(["bash", "-c", script], **self._options(), check=True)

    def failure(self) -> str:
        """Return the reason why the task is not solved; empty if it is."""
        program = [sys.executable, "-B", "-E", "-S", str(self.task.folder / "check.py")]
        try:
            process = subprocess.run(program, **self._options())
        except subprocess.TimeoutExpired:
            return "the check did not end"
        lines = (process.stderr or process.stdout).strip().splitlines()
        return "" if process.returncode == 0 else (lines or ["the check failed"])[-1]

    def _options(self) -> dict[str, Any]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {"PATH": path, "SITE": self.site, "POSTED": str(self._posted)}
        environment |= {"HOME": str(self.workspace), "LC_ALL": "C.UTF-8"}
        environment |= {"REPOSITORY": str(FOLDER.parents[1]), **_GIT}
        options = {"cwd": self.workspace, "env": environment, "timeout": _PATIENCE}
        return {**options, "capture_output": True, "text": True, "stdin": subprocess.DEVNULL}

    @property
    def _posted(self) -> Path:
        return self.workspace.with_name("posted.jsonl")


@contextmanager
def begun(task: Task, folder: Path) -> Iterator[Attempt]:
    """Provide the task's files in a folder of their own, and its site, while the block runs."""
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    source = task.folder / "workspace"
    if source.is_dir():
        shutil.copytree(source, workspace, dirs_exist_ok=True)
    if task.setup:
        Attempt(task, workspace, "").run(task.setup)
    site = find_pages() if task.page else task.folder / "site"
    if not site.is_dir():
        yield Attempt(task, workspace, "")
        return
    with serve(site, folder / "posted.jsonl", seed=task.page) as address:
        yield Attempt(task, workspace, address)


def all_tasks() -> list[Task]:
    """Return the tasks by name."""
    return [_read(file) for file in sorted(FOLDER.glob("*/task.toml"))]


def _read(file: Path) -> Task:
    config = tomllib.loads(file.read_text("utf-8"))
    return Task(name=file.parent.name, **{**config, "wrong": tuple(config["wrong"])})
