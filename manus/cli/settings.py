"""Load the settings of a command and open the configured store."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from manus.cli.notes import print_note
from manus.state.errors import SettingsError

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.threads.base import Store

T = TypeVar("T")
_MACHINE_SETTINGS = ("MANUS_CHECKPOINT", "MANUS_SANDBOX", "MANUS_BROWSER_PATH", "MANUS_DEBUG")
"""Settings about the machine rather than the run."""


def read_settings() -> Settings:
    """Load the settings from the environment, `.env` and `manus.toml`.

    Raises:
        SettingsError: a setting is invalid.
    """
    from manus.config.settings import FILE, load_settings

    # importing pathlib would cost more than the check
    has_env = os.path.exists(".env")  # noqa: PTH110
    has_file = os.path.exists(FILE)  # noqa: PTH110
    instructions = ("AGENTS.md", "CLAUDE.md", ".agents/skills", ".claude/skills")
    has_instructions = any(map(os.path.exists, instructions))
    if has_env or has_file or has_instructions:
        _ask_for_trust()
    if has_env:
        _load_env()
    return load_settings(os.environ)


def _ask_for_trust() -> None:
    """Ask once whether the user trusts this folder, if it has settings or instructions."""
    from manus.cli.trust_question import ask_to_trust, can_ask
    from manus.config.settings import FILE, settings_to_trust
    from manus.config.trust import allowed_variables, find_instructions, is_trusted, skill_files

    here = Path.cwd()
    if not can_ask() or is_trusted(here, os.environ) is not None:
        return
    try:
        settings = settings_to_trust(here / FILE, os.environ)
    except SettingsError:  # reported when the settings are loaded
        settings = []
    _, variables = allowed_variables(_variables(), trusted=False)
    files = [here / name] if (name := find_instructions(here)) else []
    files += skill_files(here)
    effects = []
    if names := [*settings, *variables]:
        effects.append(f"Its {FILE} and .env set {', '.join(names)}.")
    if files:
        instructions = ", ".join(str(file.relative_to(here)) for file in files)
        effects.append(f"The agent follows its {instructions}.")
    if effects:
        ask_to_trust(here, effects)


def _load_env() -> None:
    """Set the allowed variables of `.env` that are not set yet."""
    from manus.config.trust import allowed_variables, is_trusted

    trusted = bool(is_trusted(Path.cwd(), os.environ))
    allowed, dropped = allowed_variables(_variables(), trusted=trusted)
    for name, value in allowed.items():
        os.environ.setdefault(name, value)
    if dropped:
        reason = "they cannot be set in .env" if trusted else "`manus trust` allows them"
        print_note(f"manus: .env: {', '.join(dropped)} were ignored; {reason}.")


def _variables() -> dict[str, str | None]:
    from dotenv import dotenv_values

    return dotenv_values(".env")


def drop_settings(folder: Path) -> None:
    """Go to a folder without settings, and keep only those of the machine.

    No model, approval, hook, MCP server or limit of the user applies in this process from now on.
    """
    for variable in [*os.environ]:
        if variable.startswith("MANUS_") and variable not in _MACHINE_SETTINGS:
            del os.environ[variable]
    os.environ["XDG_CONFIG_HOME"] = str(folder / ".config")
    os.chdir(folder)


def with_store(use: Callable[[Store], Awaitable[T]], settings: Settings | None = None) -> T:
    """Open the configured store, await `use(store)`, close it, and return the result."""
    import asyncio

    from manus.threads.open_store import open_store

    selected = settings or read_settings()

    async def run() -> T:
        async with open_store(selected) as store:
            return await use(store)

    return asyncio.run(run())
