"""Trust in a folder, and the rules of tool calls approved in it.

Until the user trusts a folder, its `.env`, `AGENTS.md`, skills and code are ignored, as are
settings that do not make a run stricter, and the text of its files is untrusted. Otherwise a cloned
repository could send a key to its own address, run its code or instruct the agent (prompt
injection). The answer is stored outside the folder, by its real path and a hash of these files and
of the code that they name: after a change, the user is asked again.
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
from manus.config.named_code import code_files
from manus.config.provider_table import KEY_PREFIXES

log = logging.getLogger("manus")

INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
"""Files with a project's instructions for agents; of one folder only the first is followed."""
FILES = ("manus.toml", ".env")
SKILL_FOLDERS = (".agents/skills", ".claude/skills")
COMMAND_FOLDERS = (".agents/commands", ".claude/commands")
VARIABLE = "MANUS_TRUST"
_RECORD = "trusted"
_APPROVED = "approved"
_FORBIDDEN_VARIABLES = re.compile(
    r"PATH|HOME|SHELL|(BASH_)?ENV|PYTHON\w*|(LD|DYLD|NODE|NPM|PLAYWRIGHT|SSL|GIT|XDG)_\w+|\w+_PROXY"
    r"|(LANGSMITH|LANGCHAIN|OTEL|TRACELOOP)_\w+|\w*_CA_BUNDLE|MANUS_TRUST|MANUS_TRACING\w*",
    re.IGNORECASE,
)
_OWN_VARIABLES = re.compile(rf"({'|'.join(('MANUS', *KEY_PREFIXES))})_\w+|\w+_API_KEY")


def is_trusted(folder: Path, environment: Mapping[str, str]) -> bool | None:
    """Return whether the user trusts a folder in its current state; None if not asked. Blocking."""
    if environment.get(VARIABLE, "") not in ("", "0"):
        return True
    answer = read_record(_RECORD).get(str(folder.resolve()))
    if not isinstance(answer, dict) or answer.get("content") != _content_hash(folder):
        return None
    return bool(answer.get("trusted"))


@cache
def warn_of_untrusted(folder: Path, consequence: str) -> None:
    """Log once that a folder is not trusted, with the consequence: `its … are ignored`."""
    log.warning(
        "%s is not trusted, so %s; `manus trust` there, or MANUS_TRUST=1, enables them.",
        folder,
        consequence,
    )


def trust(folder: Path, *, trusted: bool = True) -> None:
    """Store whether the user trusts a folder in its current state. Blocking.

    Raises:
        OSError: the record cannot be written.
    """
    answer = {"content": _content_hash(folder), "trusted": trusted}
    write_record(_RECORD, {**read_record(_RECORD), str(folder.resolve()): answer})


def allowed_variables(
    values: Mapping[str, str | None], *, trusted: bool
) -> tuple[dict[str, str], list[str]]:
    """Return the variables of a `.env` that may be set, and the ignored ones meant for `manus`."""
    allowed: dict[str, str] = {}
    ignored: list[str] = []
    for name, value in values.items():
        if value is None:
            continue
        if trusted and not _FORBIDDEN_VARIABLES.fullmatch(name):
            allowed[name] = value
        elif _OWN_VARIABLES.fullmatch(name):
            ignored.append(name)
    return allowed, ignored


def _content_hash(folder: Path) -> str:
    content_hash = hashlib.sha256()
    for name in (*FILES, *INSTRUCTIONS):
        try:
            data = (folder / name).read_bytes()
        except OSError:
            if name in INSTRUCTIONS:
                continue
            data = b""
        content_hash.update(f"{name} {len(data)}\n".encode() + data)
    commands = [path for name in COMMAND_FOLDERS for path in (folder / name).glob("*.md")]
    for path in (*skill_files(folder), *sorted(filter(Path.is_file, commands))):
        content_hash.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    for path in code_files(folder):
        with contextlib.suppress(OSError):  # removed in the meantime
            data = path.read_bytes()
            content_hash.update(f"{os.path.relpath(path, folder)} {len(data)}\n".encode() + data)
    return content_hash.hexdigest()


def find_instructions(folder: Path) -> str:
    """Return the name of the file with a folder's instructions; empty without one. Blocking."""
    return next((name for name in INSTRUCTIONS if (folder / name).is_file()), "")


def skill_files(folder: Path) -> list[Path]:
    """Return the `SKILL.md` files of a folder's skills. Blocking."""
    paths: list[Path] = []
    for name in SKILL_FOLDERS:
        paths += (folder / name).glob("*/SKILL.md")
    return sorted(path for path in paths if path.is_file())


def approved_rules(folder: Path) -> list[str]:
    """Return the rules that the user has approved for all runs in a folder. Blocking."""
    rules = read_record(_APPROVED).get(str(folder.resolve()))
    if not isinstance(rules, list):
        return []
    return [str(rule) for rule in rules]


def approve_rules(folder: Path, rules: Sequence[str]) -> None:
    """Add rules to the approved ones of a folder. Blocking.

    Raises:
        OSError: the record cannot be written.
    """
    all_rules = list(dict.fromkeys([*approved_rules(folder), *rules]))
    write_record(_APPROVED, {**read_record(_APPROVED), str(folder.resolve()): all_rules})
