"""Describe the environment: system, date, git branch, sandbox, files, project instructions."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from manus.calls.catalog import USE_TOOL, Catalog
from manus.config.run_settings import RunSettings
from manus.config.trust import (
    INSTRUCTIONS,
    find_instructions,
    is_trusted,
    skill_files,
    warn_of_untrusted,
)
from manus.prompts import environment_info as prompts
from manus.sandbox.environment.report import report_tools
from manus.sandbox.git_data import read_branch
from manus.tools.bash import BASH
from manus.tools.editor.view import list_folder
from manus.tools.remember import read_memory
from manus.tools.skill import SKILL, find_skills
from manus.workspace.safe_open import open_file
from manus.workspace.workspace import Workspace

_NOT_FOLLOWED = "its own instructions and skills are not followed"
MOST_ENTRIES = 30
MOST_INSTRUCTIONS = 8_000
"""Characters of a project's instructions, and of the user's memory."""
_HIDDEN = (
    *(".venv", ".github", ".gitlab-ci.yml", ".circleci", ".pre-commit-config.yaml"),
    *(".devcontainer", ".env.example"),
)
"""Hidden entries that show how a project is built, tested and run."""


def describe_environment(
    workspace: Workspace,
    settings: RunSettings,
    before: str = "",
    *,
    tools: Catalog | None = None,
    own_python: bool | None = None,
    runs_programs: bool = True,
) -> str:
    """Return the description of the environment for the system prompt. Blocking.

    It is built once per run. If only files were added or removed since the description `before`,
    `before` is returned, because a change invalidates the provider's prompt cache. `tools`: the
    agent's tools, which determine the skills that it can use. `own_python`: `python_execute` runs
    manus's own Python even if the workspace has one; None if there is no such tool.
    `runs_programs`: the agent starts programs itself; otherwise they are not described.
    """
    root = workspace.root
    sections = [
        _overview(
            root,
            settings,
            own_python=own_python,
            runs_programs=runs_programs,
            has_shell=tools is None or tools.find(BASH) is not None,
        ),
        _instructions(root),
        "" if tools is None else _skills(root, tools),
        prompts.memory(read_memory()[:MOST_INSTRUCTIONS] if settings.memory else ""),
    ]
    description = "\n\n".join(filter(None, sections))
    return before if prompts.is_same(before, description) else description


def _overview(
    root: Path,
    settings: RunSettings,
    *,
    own_python: bool | None,
    runs_programs: bool,
    has_shell: bool,
) -> str:
    """Return the facts about the system and the listing of the workspace."""
    hosts = {name: secret.host for name, secret in settings.secrets.items()}
    if runs_programs:
        programs = _describe_programs(root, settings, own_python=own_python, has_shell=has_shell)
    else:
        network = settings.sandbox.network if settings.sandbox.kind != "none" else ""
        programs = {"System": _system(), "Programs": prompts.programs_of_others(network)}
    facts = {
        "Workspace": f"{root}. Write files only there, and give paths relative to it.",
        "Date": f"{datetime.now().astimezone():%A %Y-%m-%d, time zone %Z}",
        "System": programs.pop("System"),
        "Git branch": read_branch(root),
        "Secrets": prompts.secrets(hosts),
        **programs,
    }
    entries, omitted = _listing(root)
    return prompts.environment(facts, [*entries, *_hidden_entries(root)], omitted)


def _describe_programs(
    root: Path, settings: RunSettings, *, own_python: bool | None, has_shell: bool
) -> dict[str, str]:
    """Return the facts about the programs that the agent can start."""
    tools = report_tools(root, settings.sandbox)
    runs_own = own_python
    if own_python is not None:
        runs_own = own_python or not tools.has_python
    rules = ""
    if settings.sandbox.kind != "none":
        has_servers = bool(settings.egress.allow_private)
        rules = prompts.programs(settings.sandbox.network, tools.hidden, has_servers=has_servers)
    program_names = ", ".join(tools.programs) or "none of the usual programs"
    label = "shell: bash; found" if has_shell else "programs that Python can call"
    return {
        "System": f"{_system()}, {os.cpu_count()} cores; {label}: {program_names}",
        "Python": prompts.python(tools.python, runs_own=runs_own)
        + prompts.not_installed(tools.not_installed),
        "Tools": tools.problem,
        "Programs": rules,
        "Output": prompts.output(settings.max_observe),
    }


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
                return (entries if depth > 1 else _count_entries(root, entries)), 0
    except OSError:  # removed, or not readable
        return [], 0
    omitted = _count_visible(root) - MOST_ENTRIES
    return _count_entries(root, entries[:MOST_ENTRIES]), omitted


def _count_entries(root: Path, entries: Sequence[str]) -> list[str]:
    """Add to each folder the number of its visible entries."""
    return [_count_entry(root, entry) for entry in entries]


def _count_entry(root: Path, entry: str) -> str:
    if not entry.endswith("/"):
        return entry
    try:
        return prompts.entry_count(entry, _count_visible(root / entry))
    except OSError:  # removed in the meantime, or not readable
        return entry


def _count_visible(folder: Path) -> int:
    return sum(1 for entry in folder.iterdir() if entry.name[0] != ".")


def _hidden_entries(root: Path) -> list[str]:
    """Return one line that names the hidden entries that matter."""
    names = [f"{name}/" if (root / name).is_dir() else name for name in _HIDDEN]
    existing = [name for name in names if (root / name).exists()]
    return [prompts.hidden(existing)] if existing else []


def _instructions(root: Path) -> str:
    """Return the instructions of the project, if its folder is trusted."""
    name = find_instructions(root)
    nested = _nested_instructions(root)
    try:
        with open_file(root / name) as file:  # refuses a link out of the workspace
            text = file.read().decode("utf-8", "replace").strip()
    except OSError:
        text = ""
    if not (text or nested):
        return ""
    if not is_trusted(root, os.environ):
        warn_of_untrusted(root, _NOT_FOLLOWED)
        return ""
    rest = max(0, len(text) - MOST_INSTRUCTIONS)
    own = prompts.instructions(name, text[:MOST_INSTRUCTIONS], rest) if text else ""
    return "\n".join(filter(None, (own, prompts.nested_instructions(nested))))


def _nested_instructions(root: Path) -> list[str]:
    """Return the files with instructions for folders below the root, which is not searched deep."""
    found: list[Path] = []
    for pattern in ("*", "*/*"):
        for name in INSTRUCTIONS:
            found += root.glob(f"{pattern}/{name}")
    folders = {path.parent: path for path in reversed(found) if not _is_hidden(root, path)}
    return sorted(str(path.relative_to(root)) for path in folders.values())[:MOST_ENTRIES]


def _is_hidden(root: Path, path: Path) -> bool:
    parts = path.relative_to(root).parts
    return any(part.startswith(".") or part == "node_modules" for part in parts)
