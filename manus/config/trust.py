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
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from manus.config.files import read_record, write_record
from manus.config.named_code import code_files
from manus.config.provider_table import KEY_PREFIXES

if TYPE_CHECKING:
    from manus.config.settings import Settings


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

FEWEST_STEPS = 40
"""The smallest step limit of a built-in profile: a `max_steps` up to this is not an increase."""
_STRICTER_MODES = {"yolo": ("auto", "ask", "refuse"), "auto": ("ask", "refuse")}
"""For each mode of approval, the modes that allow fewer calls."""
_STRICTER_NETWORKS = {"open": ("rules", "off"), "rules": ("off",)}
_LIMITS = ("memory_megabytes", "processes", "file_megabytes")


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


def only_stricter(
    values: Mapping[str, Any], settings: Settings
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of an untrusted file that apply, and the names of those ignored.

    `settings` are those without the file.
    """
    accepted: dict[str, Any] = {}
    for name, value in values.items():
        rule = _RULES.get(name)
        stricter = rule(value, settings) if rule else None
        if stricter is not None and _is_valid(settings, name, stricter):
            accepted[name] = stricter
    extended = {
        "approve": {"deny": settings.approve.deny},
        "egress": {"deny": settings.egress.deny},
    }
    ignored = [
        name
        for name, value in values.items()
        if not _is_accepted(name, value, accepted, extended.get(name, {}))
    ]
    return accepted, ignored


def _is_valid(settings: Settings, name: str, value: Any) -> bool:
    try:
        type(settings).model_validate({name: value})
    except ValidationError:
        return False
    return True


def _is_accepted(
    name: str, value: Any, accepted: Mapping[str, Any], extended: Mapping[str, Any]
) -> bool:
    """Return whether a setting is accepted as a whole.

    `extended` are the user's own lists, to which entries of the file were appended.
    """
    accepted_value = accepted.get(name, value is None)
    if not isinstance(value, dict) or not isinstance(accepted_value, dict):
        return bool(accepted_value == value)
    for key, inner in value.items():
        expected = [*extended[key], *inner] if key in extended else inner
        if accepted_value.get(key) != expected:
            return False
    return True


def _fewer_steps(value: Any, settings: Settings) -> Any:
    limit = settings.max_steps
    if not limit:
        profile_limits = [profile.max_steps for profile in settings.profiles.values()]
        limit = min([FEWEST_STEPS, *filter(None, profile_limits)])
    return value if _is_number(value) and value <= limit else None


def _smaller_budget(value: Any, settings: Settings) -> Any:
    return _lower_limits(value, settings.budget, tuple(type(settings.budget).model_fields))


def _stricter_approval(value: Any, settings: Settings) -> Any:
    if not isinstance(value, dict):
        return None
    accepted: dict[str, Any] = {}
    if value.get("mode") in _STRICTER_MODES.get(settings.approve.mode, ()):
        accepted["mode"] = value["mode"]
    if value.get("taint") == "all":
        accepted["taint"] = "all"
    if isinstance(value.get("deny"), list):
        accepted["deny"] = [*settings.approve.deny, *value["deny"]]
    return accepted or None


def _narrower_egress(value: Any, settings: Settings) -> Any:
    """Return the deny list; an allow list would also count as hosts that the user has named."""
    if isinstance(value, dict) and isinstance(value.get("deny"), list):
        return {"deny": [*settings.egress.deny, *value["deny"]]}
    return None


def _tighter_sandbox(value: Any, settings: Settings) -> Any:
    if not isinstance(value, dict):
        return None
    accepted: dict[str, Any] = _lower_limits(value, settings.sandbox, _LIMITS) or {}
    if value.get("network") in _STRICTER_NETWORKS.get(settings.sandbox.network, ()):
        accepted["network"] = value["network"]
    return accepted or None


def _without_memory(value: Any, _: Settings) -> Any:
    return value if value is False else None


def _lower_limits(value: Any, limits: BaseModel, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the limits of a table that do not exceed the current ones."""
    if not isinstance(value, dict):
        return None
    accepted = {}
    for name in names:
        limit = value.get(name)
        current = getattr(limits, name)
        if _is_number(limit) and (current is None or limit <= current):
            accepted[name] = limit
    return accepted or None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_RULES: dict[str, Callable[[Any, Settings], Any]] = {
    "max_steps": _fewer_steps,
    "budget": _smaller_budget,
    "approve": _stricter_approval,
    "egress": _narrower_egress,
    "sandbox": _tighter_sandbox,
    "memory": _without_memory,
}
"""By setting: a function that returns the part of a value that makes a run stricter, or None."""
