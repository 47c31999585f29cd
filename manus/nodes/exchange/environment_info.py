"""Where a run works: system, date, git branch, sandbox, listing, the project's instructions."""

from __future__ import annotations

import os
import platform
import re
from datetime import datetime
from pathlib import Path

from manus.config.settings import Settings
from manus.config.trust import INSTRUCTIONS, is_trusted, skill_files, warn_of_untrusted
from manus.execution.environment.report import report_tools
from manus.execution.safe_open import open_file
from manus.execution.workspace import Workspace
from manus.prompts import environment_info as prompts
from manus.tools.editor.view import list_folder
from manus.tools.remember import read_memory
from manus.tools.skill import find_skills

_NOT_FOLLOWED = "its own instructions and skills are not followed"
MOST_ENTRIES = 30
MOST_INSTRUCTIONS = 8_000
"""Characters of a project's instructions, and of what the user has asked to be kept."""
_HEAD = re.compile(r"ref: refs/heads/(\S+)|([0-9a-f]{40,64})")
"""What git writes there, and nothing of another file that a link leads to."""


def place_of(
    workspace: Workspace,
    settings: Settings,
    before: str = "",
    *,
    skills: bool = False,
    own_python: bool | None = None,
) -> str:
    """What the model is told of the place, and of the `skills` that it can read. Blocking.

    `own_python`: whether `python_execute`, if there is one, runs manus's own Python whatever the
    workspace has.

    It is asked for once a run. Where only files came and went, it stays as it was `before`: a
    change costs the provider's cache of the whole conversation.
    """
    root = workspace.root
    confined = settings.sandbox.kind != "none"
    tools = report_tools(root, settings.sandbox)
    found = ", ".join(tools.programs) or "no usual programs"
    facts = {
        "Workspace": f"{root}. Write files only there, and give paths relative to it.",
        "Date": f"{datetime.now().astimezone():%A %Y-%m-%d, time zone %Z}",
        "System": f"{_system()}; shell: bash; found: {found}",
        "Tools": prompts.tools(tools.selected, tools.problems, own_python=own_python),
        "Git branch": _branch(root),
        "Secrets": prompts.secrets({name: s.host for name, s in settings.secrets.items()}),
        "Programs": prompts.programs(settings.sandbox.network, tools.hidden) if confined else "",
    }
    listed, more = _listing(root)
    known = find_skills(root) if skills else {}
    descriptions = {name: skill.description for name, skill in known.items()}
    if skills and skill_files(root) and not is_trusted(root, os.environ):
        warn_of_untrusted(root, _NOT_FOLLOWED)
    kept = read_memory()[:MOST_INSTRUCTIONS] if settings.memory else ""
    told = [
        prompts.environment(facts, listed, more),
        _instructions(root),
        prompts.skills(descriptions),
        prompts.memory(kept),
    ]
    now = "\n\n".join(part for part in told if part)
    return before if prompts.is_same(before, now) else now


def _system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:  # macOS has none
        name = ""
    kernel = f"{platform.system()} {platform.machine()}"
    return f"{name} ({kernel})" if name else kernel


def _listing(root: Path) -> tuple[list[str], int]:
    """Two levels of the workspace, or one where two have no room; and how many were left out."""
    try:
        for depth in (2, 1):
            listed = list_folder(root, "", depth)
            if len(listed) <= MOST_ENTRIES:
                return listed, 0
    except OSError:  # gone, or not ours to read
        return [], 0
    return listed[:MOST_ENTRIES], sum(1 for e in root.iterdir() if e.name[0] != ".") - MOST_ENTRIES


def _branch(root: Path) -> str:
    """Read, not asked of `git`: that would run what a repository's own settings name."""
    git = next((p / ".git" for p in (root, *root.parents) if (p / ".git").exists()), None)
    if git is None:
        return ""
    try:
        if git.is_file():  # a worktree
            git = git.parent / _beginning(git).removeprefix("gitdir:").strip()
        head = _HEAD.fullmatch(_beginning(git / "HEAD"))
    except (OSError, ValueError):
        return ""
    return head[1] or head[2] if head else ""


def _beginning(path: Path) -> str:
    """Of a small file; a program of an earlier run may have put a pipe or a link there."""
    with open_file(Path(os.path.realpath(path))) as file:
        return file.read(4096).decode("utf-8").strip()


def _instructions(root: Path) -> str:
    """The project's own, of a folder that a person trusts."""
    try:
        with open_file(root / INSTRUCTIONS) as file:  # no link out of the workspace
            text = file.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""
    if not is_trusted(root, os.environ):
        warn_of_untrusted(root, _NOT_FOLLOWED)
        return ""
    rest = max(0, len(text) - MOST_INSTRUCTIONS)
    return prompts.instructions(INSTRUCTIONS, text[:MOST_INSTRUCTIONS], rest)
