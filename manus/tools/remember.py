"""`remember`: a fact that the user wants to be known in all later conversations.

Such facts are kept in a small Markdown file of the user's own.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.config.files import data_folder, make_private_folder, write_atomically
from manus.execution.base import AgentTool, Arguments
from manus.execution.result import Observation
from manus.state.errors import ToolError
from manus.state.user_words import asks_to_remember

REMEMBER = "remember"


def memory_file() -> Path:
    """The file, whether it is there or not."""
    return data_folder() / "memory.md"


def read_memory() -> str:
    """Its text; empty if there is none. Blocking."""
    try:
        return memory_file().read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def add_to_memory(fact: str) -> None:
    """Add a line, unless it is there. Blocking.

    Raises:
        OSError: it cannot be written.
    """
    known = read_memory()
    line = f"- {' '.join(fact.split())}"
    if line in known.splitlines():
        return
    file = memory_file()
    make_private_folder(file.parent)
    write_atomically(file, f"{known}\n{line}\n".lstrip().encode("utf-8", "replace"), 0o600)


class RememberArgs(Arguments):
    """Arguments of `remember`."""

    fact: str = Field(min_length=1, max_length=500, description="One sentence")


class Remember(AgentTool):
    """Writes it to the user's own file; a person is asked, since every later run is told of it."""

    name: str = REMEMBER
    description: str = (
        "Keep a fact for all later conversations. Only when the user asks you to remember it."
    )
    args_schema: type[BaseModel] = RememberArgs
    uses: ClassVar[str] = "memory"

    @override
    def leaves(self, args: dict[str, Any]) -> str:
        guard = self.session.egress_guard
        is_requested = asks_to_remember(guard.words) and not guard.is_tainted
        return "" if is_requested else "it is kept for all later conversations"

    @override
    async def observe(self, fact: str, **_: Any) -> Observation:
        try:
            await asyncio.to_thread(add_to_memory, fact)
        except OSError as error:
            raise ToolError(f"{memory_file()} cannot be written: {error.strerror}.") from None
        return Observation("It is kept.")
