"""`skill`: how some kind of work is done well, in a folder with a `SKILL.md`, read when needed.

The form is the one of Claude Code, gemini-cli and deepagents. Skills come from the project, once a
person trusts it, from the user's configuration folder, and with the package; the first of a name
counts.
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

from manus.config.trust import SKILL_FOLDERS, is_trusted
from manus.execution.base import AgentTool, Arguments
from manus.execution.result import Observation
from manus.execution.safe_open import open_file
from manus.prompts import environment_info as prompts
from manus.state.errors import ToolError

log = logging.getLogger("manus")

SKILL = "skill"
_FILE = "SKILL.md"
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill, and where its folder is."""

    name: str
    description: str
    folder: Path
    body: str


def skills_of(root: Path) -> dict[str, Skill]:
    """The skills of a workspace by name, the project's first. Blocking."""
    found: dict[str, Skill] = {}
    for folder in _folders(root):
        try:
            text = _read(folder / _FILE)
        except OSError:
            continue
        skill = as_skill(folder, text)
        if skill is None:
            log.warning("%s does not begin with YAML that has a `description`.", folder / _FILE)
        else:
            found.setdefault(skill.name, skill)
    return found


def _folders(root: Path) -> Iterator[Path]:
    from platformdirs import user_config_path

    own = [root / name for name in SKILL_FOLDERS] if is_trusted(root, os.environ) else []
    user = user_config_path("manus", appauthor=False) / "skills"
    package = Path(prompts.__file__).parent / "skills"
    for place in (*own, user, package):
        if place.is_dir():
            folders = (entry for entry in sorted(place.iterdir()) if entry.is_dir())
            # a link out of the project is not followed; people link skills into their own folder
            yield from folders if place in own else (folder.resolve() for folder in folders)


def _read(path: Path) -> str:
    with closing(open_file(path)) as file:
        return file.read().decode("utf-8", "replace")


def as_skill(folder: Path, text: str) -> Skill | None:
    """The skill that a `SKILL.md` describes; None if its YAML does not say what it is for."""
    import yaml

    head = _HEAD.match(text)
    try:
        values = yaml.safe_load(head[1]) if head else None
    except yaml.YAMLError:
        values = None
    if head is None or not isinstance(values, dict) or not values.get("description"):
        return None
    name, about = (str(values.get(key) or folder.name) for key in ("name", "description"))
    return Skill(name, " ".join(about.split()), folder, text[head.end() :].strip())


class SkillArgs(Arguments):
    """Arguments of `skill`."""

    name: str = Field(description="Its name, as listed in the system prompt")
    file: str | None = Field(None, description="Another file of its folder, instead of its text")


class ReadSkill(AgentTool):
    """Gives a skill's text."""

    name: str = SKILL
    description: str = "Read a skill: how a kind of work is done well."
    args_schema: type[BaseModel] = SkillArgs
    without_effect: ClassVar[bool] = True

    @override
    async def observe(self, name: str, file: str | None = None, **_: Any) -> Observation:
        return Observation(await asyncio.to_thread(self._text, name, file))

    def _text(self, name: str, file: str | None) -> str:
        known = skills_of(self.session.workspace.root)
        skill = known.get(name) or known.get(name.lower())
        if skill is None:
            raise ToolError(f"There is no skill `{name}`. There are: {', '.join(known)}.")
        files = (path for path in sorted(skill.folder.rglob("*")) if path.is_file())
        others = [str(path.relative_to(skill.folder)) for path in files]
        others.remove(_FILE)
        if file is None:
            return prompts.skill(skill.name, str(skill.folder), skill.body, others)
        if file not in others:
            raise ToolError(f"The skill {skill.name} has no file `{file}`; {others or 'no other'}.")
        return _read(skill.folder / file)
