"""Where a run works: system, date, git branch, sandbox, listing, the project's instructions."""

from __future__ import annotations

import os
import platform
import re
import shutil
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from manus.prompts import place as prompts
from manus.state.safety_settings import SandboxSettings
from manus.state.settings import Settings
from manus.state.trust import INSTRUCTIONS, is_trusted, skill_files, warn_of_untrusted
from manus.tools.beneath import open_file
from manus.tools.editor.view import listing
from manus.tools.remember import read_memory
from manus.tools.sandbox.bubblewrap import unseen
from manus.tools.skill import skills_of
from manus.tools.workspace import Workspace

_NOT_FOLLOWED = "its own instructions and skills are not followed"
MOST_ENTRIES = 30
MOST_INSTRUCTIONS = 8_000
"""Characters of a project's instructions, and of what the user has asked to be kept."""
_PROGRAMS = (
    *("python3", "python", "pytest", "uv", "git", "node", "npm", "cargo", "go", "make", "rg"),
)
_HEAD = re.compile(r"ref: refs/heads/(\S+)|([0-9a-f]{40,64})")
"""What git writes there, and nothing of another file that a link leads to."""


def place_of(
    workspace: Workspace, settings: Settings, before: str = "", *, skills: bool = False
) -> str:
    """What the model is told of the place, and of the `skills` that it can read. Blocking.

    It is asked for once a run. Where only files came and went, it stays as it was `before`: a
    change costs the provider's cache of the whole conversation.
    """
    root = workspace.root
    confined = settings.sandbox.kind != "none"
    hidden = hidden_folders(root, settings.sandbox) if confined else []
    there = set().union(*(_programs_in(folder) for folder in _path() if folder not in hidden))
    found = ", ".join(name for name in _PROGRAMS if name in there)
    facts = {
        "Workspace": f"{root}. Write files only there, and give paths relative to it.",
        "Date": f"{datetime.now().astimezone():%A %Y-%m-%d, time zone %Z}",
        "System": f"{_system()}; shell: bash; found: {found or 'no usual programs'}",
        "Git branch": _branch(root),
        "Secrets": prompts.secrets({name: s.host for name, s in settings.secrets.items()}),
        "Programs": prompts.programs(settings.sandbox.network, hidden) if confined else "",
    }
    listed, more = _listing(root)
    known = skills_of(root) if skills else {}
    descriptions = {name: skill.description for name, skill in known.items()}
    if skills and skill_files(root) and not is_trusted(root, os.environ):
        warn_of_untrusted(root, _NOT_FOLLOWED)
    kept = read_memory()[:MOST_INSTRUCTIONS] if settings.memory else ""
    told = [
        prompts.place(facts, listed, more),
        _instructions(root),
        prompts.skills(descriptions),
        prompts.memory(kept),
    ]
    now = "\n\n".join(part for part in told if part)
    return before if prompts.is_same(before, now) else now


def hidden_folders(root: Path, settings: SandboxSettings) -> list[str]:
    """Folders of programs that the user has and that a sandbox does not show. Blocking."""
    python = Path(os.path.realpath(root / ".venv" / "bin" / "python"))  # mostly in the home
    folders = dict.fromkeys([*_path(), str(python.parent)])
    read = [root, *(Path(path).expanduser() for path in settings.read)]
    hidden = unseen(folders, read)
    return [folder for folder in hidden if _programs_in(folder)]


def _programs_in(folder: str) -> frozenset[str]:
    """Those of the usual programs that are in a folder of the path."""
    try:
        return _found_in(folder, Path(folder).stat().st_mtime_ns)
    except OSError:
        return frozenset()


@lru_cache(256)
def _found_in(folder: str, _changed: int) -> frozenset[str]:
    return frozenset(name for name in _PROGRAMS if shutil.which(name, path=folder))


def _path() -> list[str]:
    return os.environ.get("PATH", os.defpath).split(os.pathsep)


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
            listed = listing(root, "", depth)
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
