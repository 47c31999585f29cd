"""Trust in a folder, and the calls that are approved in it.

Until a person trusts a folder, its `.env`, `AGENTS.md`, skills and code do not count, nor settings
that do not make a run stricter, and what its files say is untrusted text. Otherwise a cloned
repository could send a key to its own address, run its code or instruct the agent. The answer is
kept outside the folder, by its real path and a hash of these files and of the code that they name:
a change asks again.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from manus.config.files import read_record, write_record
from manus.config.named_code import named_code

log = logging.getLogger("manus")

INSTRUCTIONS = "AGENTS.md"
FILES = ("manus.toml", ".env")
SKILL_FOLDERS = (".agents/skills", ".claude/skills")
VARIABLE = "MANUS_TRUST"
_RECORD = "trusted"
_APPROVED = "approved"
_NEVER = re.compile(
    r"PATH|HOME|SHELL|(BASH_)?ENV|PYTHON\w*|(LD|DYLD|NODE|NPM|PLAYWRIGHT|SSL|GIT|XDG)_\w+|\w+_PROXY"
    r"|(LANGSMITH|LANGCHAIN|OTEL|TRACELOOP)_\w+|\w*_CA_BUNDLE|MANUS_TRUST|MANUS_TRACING\w*",
    re.IGNORECASE,
)
_OURS = re.compile(r"(MANUS|OPENAI|AZURE|ANTHROPIC|GOOGLE|GEMINI|AWS)_\w+|\w+_API_KEY")


def is_trusted(folder: Path, environment: Mapping[str, str]) -> bool | None:
    """Return what a person has said of a folder as it is now; None if not asked. Blocking."""
    if environment.get(VARIABLE, "") not in ("", "0"):
        return True
    said = read_record(_RECORD).get(str(folder.resolve()))
    if not isinstance(said, dict) or said.get("content") != _content(folder):
        return None
    return bool(said.get("trusted"))


@cache
def warn_of_untrusted(folder: Path, what: str) -> None:
    """Say once what does not count of a folder that nobody has trusted: `its … are ignored`."""
    log.warning(
        "%s is not trusted, so %s; `manus trust` there, or MANUS_TRUST=1, lets them count.",
        folder,
        what,
    )


def trust(folder: Path, *, trusted: bool = True) -> None:
    """Keep what a person has said of a folder as it is now. Blocking.

    Raises:
        OSError: it cannot be kept.
    """
    said = {"content": _content(folder), "trusted": trusted}
    write_record(_RECORD, {**read_record(_RECORD), str(folder.resolve()): said})


def allowed_variables(
    values: Mapping[str, str | None], *, trusted: bool
) -> tuple[dict[str, str], list[str]]:
    """Of a `.env`: what may be set, and the names of ours that may not."""
    found = {name: value for name, value in values.items() if value is not None}
    kept = {name: value for name, value in found.items() if trusted and not _NEVER.fullmatch(name)}
    return kept, [name for name in found if name not in kept and _OURS.fullmatch(name)]


def _content(folder: Path) -> str:
    hashed = hashlib.sha256()
    for name in (*FILES, INSTRUCTIONS):
        try:
            data = (folder / name).read_bytes()
        except OSError:
            if name == INSTRUCTIONS:
                continue
            data = b""
        hashed.update(f"{name} {len(data)}\n".encode() + data)
    for path in skill_files(folder):
        hashed.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    for path in named_code(folder):
        with contextlib.suppress(OSError):  # it has just gone
            data = path.read_bytes()
            hashed.update(f"{os.path.relpath(path, folder)} {len(data)}\n".encode() + data)
    return hashed.hexdigest()


def skill_files(folder: Path) -> list[Path]:
    """The texts of a folder's own skills. Blocking."""
    found = (path for place in SKILL_FOLDERS for path in (folder / place).glob("*/SKILL.md"))
    return sorted(path for path in found if path.is_file())


def known_rules(folder: Path) -> list[str]:
    """The rules that a person has approved for all runs in a folder. Blocking."""
    found = read_record(_APPROVED).get(str(folder.resolve()))
    return [str(rule) for rule in found] if isinstance(found, list) else []


def keep_rules(folder: Path, rules: Sequence[str]) -> None:
    """Add rules to those of a folder. Blocking.

    Raises:
        OSError: they cannot be kept.
    """
    known = list(dict.fromkeys([*known_rules(folder), *rules]))
    write_record(_APPROVED, {**read_record(_APPROVED), str(folder.resolve()): known})
