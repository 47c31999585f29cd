"""The editor as its tests call it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from manus.calls.catalog import Catalog
from manus.calls.result import Observation
from manus.calls.session import Session
from manus.tools.str_replace_editor import StrReplaceEditor

Edit = Callable[..., Awaitable[Observation]]


def build_editor(session: Session) -> Edit:
    """Return a function that executes one command of the editor."""
    catalog = Catalog([StrReplaceEditor(session=session)])

    async def edit(command: str, path: str, **arguments: Any) -> Observation:
        return await catalog.execute(
            "str_replace_editor", {"command": command, "path": path, **arguments}
        )

    return edit


async def get_error(answer: Awaitable[Observation]) -> str:
    """Return the output of a call that must fail."""
    observation = await answer
    assert observation.is_error, observation.text
    return observation.text


async def get_output(answer: Awaitable[Observation]) -> str:
    """Return the output of a call that must succeed."""
    observation = await answer
    assert not observation.is_error, observation.text
    return observation.text


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())
