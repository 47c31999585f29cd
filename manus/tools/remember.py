"""`remember`: store a fact for all later conversations in the user's memory file (Markdown)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.calls.base import AgentTool, Approval, Arguments
from manus.calls.result import Observation
from manus.config.files import data_folder, make_private_folder, write_atomically
from manus.prompts.approval import stored, stored_after
from manus.state.errors import ToolError

REMEMBER = "remember"


def memory_file() -> Path:
    """Return the path of the memory file, which need not exist."""
    return data_folder() / "memory.md"


def read_memory() -> str:
    """Return the text of the memory file; empty if it does not exist. Blocking."""
    try:
        return memory_file().read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def add_to_memory(fact: str) -> None:
    """Add a fact to the memory file, unless it is already there. Blocking.

    Raises:
        OSError: the file cannot be written.
    """
    existing = read_memory()
    line = f"- {' '.join(fact.split())}"
    if line in existing.splitlines():
        return
    file = memory_file()
    make_private_folder(file.parent)
    write_atomically(file, f"{existing}\n{line}\n".lstrip().encode("utf-8", "replace"), 0o600)


class RememberArgs(Arguments):
    """Arguments of `remember`."""

    fact: str = Field(min_length=1, max_length=500, description="One sentence")


class Remember(AgentTool):
    """The tool that stores a fact. After untrusted text it needs approval: later runs read it."""

    name: str = REMEMBER
    description: str = (
        "Store a fact for all later conversations, only when the user asks you to remember it."
    )
    summary: ClassVar[str] = "store a fact for later conversations, only when the user asks for it"
    args_schema: type[BaseModel] = RememberArgs
    uses: ClassVar[str] = "memory"
    is_optional: ClassVar[bool] = True

    @override
    def approval(self, args: dict[str, Any]) -> Approval:
        untrusted = self.session.egress_guard.why_tainted
        return Approval(stored_after(untrusted) if untrusted else "")

    @override
    async def observe(self, fact: str, **_: Any) -> Observation:
        try:
            await asyncio.to_thread(add_to_memory, fact)
        except OSError as error:
            raise ToolError(f"Cannot write {memory_file()}: {error.strerror}.") from None
        return Observation(stored(" ".join(fact.split())))
