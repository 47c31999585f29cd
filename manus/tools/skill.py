"""`skill`: read a skill, a folder with instructions in `SKILL.md`, when it is needed.

The format is that of Claude Code, gemini-cli and deepagents. Skills come from a trusted project,
from the user's configuration folder, and from the package; the first one with a name wins.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Observation
from manus.config.trust import SKILL_FOLDERS, is_trusted
from manus.prompts import environment_info as prompts
from manus.state.errors import ToolError
from manus.workspace.safe_open import open_file

log = logging.getLogger("manus")

SKILL = "skill"
_FILE = "SKILL.md"
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill and its folder."""

    name: str
    description: str
    folder: Path
    body: str
    tools: tuple[str, ...] = ()
    """Names of tools; the skill needs at least one of them. Empty if it needs none."""


def find_skills(root: Path) -> dict[str, Skill]:
    """Return the skills of a workspace by name, the project's first. Blocking."""
    skills: dict[str, Skill] = {}
    for folder in _iterate_folders(root):
        try:
            text = _read(folder / _FILE)
        except OSError:
            continue
        skill = parse_skill(folder, text)
        if skill is None:
            log.warning("%s does not start with YAML that has a `description`.", folder / _FILE)
        else:
            skills.setdefault(skill.name, skill)
    return skills


def _iterate_folders(root: Path) -> Iterator[Path]:
    from platformdirs import user_config_path

    project_folders = (
        [root / name for name in SKILL_FOLDERS] if is_trusted(root, os.environ) else []
    )
    user = user_config_path("manus", appauthor=False) / "skills"
    package = Path(prompts.__file__).parent / "skills"
    for parent in (*project_folders, user, package):
        if parent.is_dir():
            folders = (entry for entry in sorted(parent.iterdir()) if entry.is_dir())
            # links in a project are not followed; users may link skills into their own folder
            yield from (
                folders if parent in project_folders else (folder.resolve() for folder in folders)
            )


def _read(path: Path) -> str:
    with closing(open_file(path)) as file:
        return file.read().decode("utf-8", "replace")


def parse_skill(folder: Path, text: str) -> Skill | None:
    """Parse a `SKILL.md`; return None if its YAML has no description."""
    import yaml

    head = _FRONT_MATTER.match(text)
    try:
        values = yaml.safe_load(head[1]) if head else None
    except yaml.YAMLError:
        values = None
    if head is None or not isinstance(values, dict) or not values.get("description"):
        return None
    name = str(values.get("name") or folder.name)
    description = " ".join(str(values["description"]).split())
    metadata = values.get("metadata")
    tools = str(metadata.get("tools") or "") if isinstance(metadata, dict) else ""
    names = tuple(tools.replace(",", " ").lower().split())
    return Skill(name, description, folder, text[head.end() :].strip(), names)


class SkillArgs(Arguments):
    """Arguments of `skill`."""

    name: str = Field(description="One of those in the system prompt")
    file: str | None = Field(None, description="Another file of the skill")


class ReadSkill(AgentTool):
    """The tool that reads a skill."""

    name: str = SKILL
    description: str = "Read a skill: how to do a kind of work well."
    summary: ClassVar[str] = "read a skill"
    args_schema: type[BaseModel] = SkillArgs
    without_effect: ClassVar[bool] = True

    @override
    async def observe(self, name: str, file: str | None = None, **_: Any) -> Observation:
        return Observation(await asyncio.to_thread(self._text, name, file))

    def _text(self, name: str, file: str | None) -> str:
        skills = find_skills(self.session.workspace.root)
        skill = skills.get(name) or skills.get(name.lower())
        if skill is None:
            raise ToolError(f"There is no skill `{name}`. The skills are: {', '.join(skills)}.")
        files = (path for path in sorted(skill.folder.rglob("*")) if path.is_file())
        other_files = [str(path.relative_to(skill.folder)) for path in files]
        other_files.remove(_FILE)
        if file is None:
            return prompts.skill(skill.name, str(skill.folder), skill.body, other_files)
        if file not in other_files:
            raise ToolError(
                f"The skill {skill.name} has no file `{file}`; {other_files or 'no other'}."
            )
        return _read(skill.folder / file)
