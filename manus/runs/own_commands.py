"""The user's own slash commands: Markdown files whose text is a request."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from manus.config.trust import COMMAND_FOLDERS, is_trusted
from manus.workspace.safe_open import open_file

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.S)
_ARGUMENT = re.compile(r"\$(ARGUMENTS|[1-9])")
_MAX_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """A command, and the file that defines it."""

    description: str
    text: str

    def expand(self, arguments: str) -> str:
        """Return the request: `$ARGUMENTS` is all that was typed after the name, `$1` a word."""
        words = arguments.split()

        def value(match: re.Match[str]) -> str:
            if match[1] == "ARGUMENTS":
                return arguments
            number = int(match[1])
            return words[number - 1] if number <= len(words) else ""

        expanded = _ARGUMENT.sub(value, self.text).strip()
        if arguments and not _ARGUMENT.search(self.text):
            expanded = f"{expanded}\n\n{arguments}"
        return expanded


def find_own_commands(root: Path) -> dict[str, OwnCommand]:
    """Return the commands by name: a trusted project's first, then the user's. Blocking."""
    commands: dict[str, OwnCommand] = {}
    for path in _iterate_files(root):
        try:
            with open_file(path) as file:
                text = file.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        commands.setdefault(path.stem, _parse(text))
    return commands


def _iterate_files(root: Path) -> Iterator[Path]:
    from platformdirs import user_config_path

    folders = [root / name for name in COMMAND_FOLDERS] if is_trusted(root, os.environ) else []
    folders.append(user_config_path("manus", appauthor=False) / "commands")
    for folder in folders:
        yield from sorted(folder.glob("*.md"))


def _parse(text: str) -> OwnCommand:
    """Return the command of a file; its first line describes it if its YAML does not."""
    front = _FRONT_MATTER.match(text)
    body = text[front.end() :] if front else text
    try:
        fields = yaml.safe_load(front[1]) if front else {}
    except yaml.YAMLError:
        fields = {}
    description = fields.get("description") if isinstance(fields, dict) else None
    first_line = body.strip().partition("\n")[0].lstrip("# ")
    return OwnCommand(str(description or first_line), body)
