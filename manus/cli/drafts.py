"""Texts that a person edits to change a call or a plan: what is asked about, and how to answer."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from manus.cli.prompt_session import build_session
from manus.cli.screen import FAILED, Screen


@dataclass(frozen=True, slots=True)
class Draft:
    """A text to edit."""

    text: str
    suffix: str
    """The suffix of a file with this text, by which an editor knows its syntax."""
    to_answer: Callable[[str], str]
    """Returns the answer for the edited text, or raises ValueError."""


def build_draft(question: Mapping[str, Any]) -> Draft:
    """Return the arguments of a call, or the steps of a plan, as a text.

    The only text argument of a call is edited as it is, several arguments as TOML.
    """
    if question["kind"] == "plan":
        steps = [step["text"] for step in question["plan"]["steps"]]
        return Draft("\n".join(steps), ".txt", lambda text: f"edit\n{text}")
    args = question["action_requests"][0]["args"]
    if len(args) == 1:
        [(name, value)] = args.items()
        if isinstance(value, str):
            return Draft(value, ".txt", lambda text: f"edit {json.dumps({name: text})}")
    return _draft_table(args)


def _draft_table(args: Mapping[str, Any]) -> Draft:
    import tomlkit

    table = tomlkit.document()
    for name, value in args.items():
        if isinstance(value, str):
            table[name] = tomlkit.string(value, multiline="\n" in value)
        elif value is not None:
            table[name] = value if isinstance(value, int | float) else json.dumps(value)
    before = table.unwrap()

    def to_answer(text: str) -> str:
        after = tomlkit.parse(text).unwrap()
        changes = {name: value for name, value in after.items() if value != before.get(name)}
        return f"edit {json.dumps(changes)}"

    return Draft(tomlkit.dumps(table), ".toml", to_answer)


async def edit(draft: Draft, screen: Screen) -> str:
    """Let the user change a draft until it can be read; return the answer.

    Return an empty string if nothing was changed.

    Raises:
        EOFError: the end of input.
        ClickException: the editor failed.
    """
    text = draft.text
    while (text := await _edit_text(text, draft.suffix)).strip() != draft.text.strip():
        try:
            return draft.to_answer(text)
        except ValueError as error:
            screen.paragraph(f"  {error}", FAILED, always=True)
    return ""


async def _edit_text(text: str, suffix: str) -> str:
    """Return a text as changed in `$VISUAL` or `$EDITOR`, or at the prompt if neither is set."""
    if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
        saved = await asyncio.to_thread(click.edit, text, extension=suffix)
        return text if saved is None else saved.rstrip("\n")
    ask = build_session().prompt_async
    return await ask("  » ", default=text.rstrip("\n"), handle_sigint=False)
