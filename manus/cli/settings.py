"""The settings that a command works with, and the store that they name."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from manus.state.errors import SettingsError

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.store.base import Store

T = TypeVar("T")


def read_settings() -> Settings:
    """The settings of the environment, a `.env` file here, and `manus.toml`.

    Raises:
        SettingsError: one does not fit.
    """
    from manus.config.settings import FILE, load_settings

    # pathlib costs more than the question
    has_env = os.path.exists(".env")  # noqa: PTH110
    has_file = os.path.exists(FILE)  # noqa: PTH110
    instructs = any(map(os.path.exists, ("AGENTS.md", ".agents/skills", ".claude/skills")))
    if has_env or has_file or instructs:
        _ask_for_trust()
    if has_env:
        _load_env()
    return load_settings(os.environ)


def _ask_for_trust() -> None:
    """Ask a person once whether they trust this folder, where its own settings depend on it."""
    from manus.cli.questions import ask_yes, someone_is_there
    from manus.config.settings import FILE, settings_to_trust
    from manus.config.trust import INSTRUCTIONS, allowed_variables, is_trusted, skill_files
    from manus.runs.folder_trust import CONSEQUENCE, QUESTION, decide

    here = Path.cwd()
    if not (someone_is_there() and sys.stderr.isatty()) or is_trusted(here, os.environ) is not None:
        return
    try:
        settings = settings_to_trust(here / FILE, os.environ)
    except SettingsError:  # loading it tells
        settings = []
    _, variables = allowed_variables(_variables(), trusted=False)
    names = [*settings, *variables]
    instructions = [
        str(file.relative_to(here))
        for file in (here / INSTRUCTIONS, *skill_files(here))
        if file.is_file()
    ]
    if names:
        sys.stderr.write(f"The files {FILE} and .env in {here} set {', '.join(names)}.\n")
    if instructions:
        files = ", ".join(instructions)
        sys.stderr.write(f"The agent is told how to work by {files} in {here}.\n")
    if names or instructions:
        sys.stderr.write(f"{CONSEQUENCE}\n")
        decide(here, trusted=ask_yes(QUESTION))


def _load_env() -> None:
    """Take the variables of `.env` that may be set and are not."""
    from manus.config.trust import allowed_variables, is_trusted

    trusted = bool(is_trusted(Path.cwd(), os.environ))
    kept, dropped = allowed_variables(_variables(), trusted=trusted)
    for name, value in kept.items():
        os.environ.setdefault(name, value)
    if dropped:
        why = "they cannot be set there" if trusted else "`manus trust` lets them count"
        sys.stderr.write(f"manus: .env: {', '.join(dropped)} are ignored; {why}.\n")


def _variables() -> dict[str, str | None]:
    from dotenv import dotenv_values

    return dotenv_values(".env")


def with_store(use: Callable[[Store], Awaitable[T]], settings: Settings | None = None) -> T:
    """What a use of the store gives, which is opened as the settings say, and closed."""
    import asyncio

    from manus.store.open_store import open_store

    chosen = settings or read_settings()

    async def used() -> T:
        async with open_store(chosen) as store:
            return await use(store)

    return asyncio.run(used())
