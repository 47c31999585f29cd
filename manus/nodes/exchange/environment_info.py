"""Describe the environment: system, date, git branch, sandbox, files, project instructions."""

from __future__ import annotations

import os
import platform
import re
from datetime import datetime
from pathlib import Path

from manus.config.run_settings import RunSettings
from manus.config.trust import INSTRUCTIONS, is_trusted, skill_files, warn_of_untrusted
from manus.execution.catalog import USE_TOOL, Catalog
from manus.execution.environment.report import report_tools
from manus.execution.safe_open import open_file
from manus.execution.workspace import Workspace
from manus.prompts import environment_info as prompts
from manus.tools.editor.view import list_folder
from manus.tools.remember import read_memory
from manus.tools.skill import SKILL, find_skills

_NOT_FOLLOWED = "its own instructions and skills are not followed"
MOST_ENTRIES = 30
MOST_INSTRUCTIONS = 8_000
"""Characters of a project's instructions, and of the user's memory."""
_HEAD = re.compile(r"ref: refs/heads/(\S+)|([0-9a-f]{40,64})")
"""What git writes into HEAD, so that no other file is disclosed through a link."""


def describe_environment(
    workspace: Workspace,
    settings: RunSettings,
    before: str = "",
    *,
    tools: Catalog | None = None,
    own_python: bool | None = None,
) -> str:
    """Return the description of the environment for the system prompt. Blocking.

    It is built once a run. If only files were added or removed since the description `before`, that
    one is returned, because a change invalidates the provider's prompt cache. `tools`: those of the
    agent, which decide what skills it can use. `own_python`: `python_execute` runs manus's own
    Python even if the workspace has one; None if there is no such tool.
    """
    root = workspace.root
    sections = [
        _overview(root, settings, own_python=own_python),
        _instructions(root),
        "" if tools is None else _skills(root, tools),
        prompts.memory(read_memory()[:MOST_INSTRUCTIONS] if settings.memory else ""),
    ]
    description = "\n\n".join(filter(None, sections))
    return before if prompts.is_same(before, description) else description


def _overview(root: Path, settings: RunSettings, *, own_python: bool | None) -> str:
    """Return the facts about the system and the listing of the workspace."""
    tools = report_tools(root, settings.sandbox)
    programs = ", ".join(tools.programs) or "no usual programs"
    hosts = {name: secret.host for name, secret in settings.secrets.items()}
    sandbox = ""
    if settings.sandbox.kind != "none":
        sandbox = prompts.programs(settings.sandbox.network, tools.hidden)
    facts = {
        "Workspace": f"{root}. Write files only there, and give paths relative to it.",
        "Date": f"{datetime.now().astimezone():%A %Y-%m-%d, time zone %Z}",
        "System": f"{_system()}; shell: bash; found: {programs}",
        "Tools": prompts.tools(tools.selected, tools.problems, own_python=own_python),
        "Git branch": _branch(root),
        "Secrets": prompts.secrets(hosts),
        "Programs": sandbox,
    }
    entries, omitted = _listing(root)
    return prompts.environment(facts, entries, omitted)


def _skills(root: Path, tools: Catalog) -> str:
    """Return the list of the skills that an agent with these tools can read and use."""
    if tools.find(SKILL) is None:
        return ""
    if skill_files(root) and not is_trusted(root, os.environ):
        warn_of_untrusted(root, _NOT_FOLLOWED)
    descriptions = {}
    for name, skill in find_skills(root).items():
        if not skill.tools or any(map(tools.find, skill.tools)):
            descriptions[name] = skill.description
    return prompts.skills(descriptions, USE_TOOL if tools.is_on_demand(SKILL) else SKILL)


def _system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:  # macOS has none
        name = ""
    kernel = f"{platform.system()} {platform.machine()}"
    return f"{name} ({kernel})" if name else kernel


def _listing(root: Path) -> tuple[list[str], int]:
    """List two levels of the workspace, or one if two are too long; count what is omitted."""
    try:
        for depth in (2, 1):
            entries = list_folder(root, "", depth)
            if len(entries) <= MOST_ENTRIES:
                return entries, 0
    except OSError:  # removed, or not readable
        return [], 0
    visible = sum(1 for entry in root.iterdir() if entry.name[0] != ".")
    return entries[:MOST_ENTRIES], visible - MOST_ENTRIES


def _branch(root: Path) -> str:
    """Return the git branch or commit.

    The files are read directly: `git` would run programs that the repository's settings name.
    """
    git = _git_folder(root)
    if git is None:
        return ""
    try:
        if git.is_file():  # a worktree
            git = git.parent / _read_start(git).removeprefix("gitdir:").strip()
        head = _HEAD.fullmatch(_read_start(git / "HEAD"))
    except (OSError, ValueError):
        return ""
    return head[1] or head[2] if head else ""


def _git_folder(root: Path) -> Path | None:
    for folder in (root, *root.parents):
        git = folder / ".git"
        if git.exists():
            return git
    return None


def _read_start(path: Path) -> str:
    """Read the start of a small file, which an earlier program may have replaced by a pipe."""
    with open_file(Path(os.path.realpath(path))) as file:
        return file.read(4096).decode("utf-8").strip()


def _instructions(root: Path) -> str:
    """Return the instructions of the project, if its folder is trusted."""
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
