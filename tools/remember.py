"""`remember`: a fact that the user wants to be known in all later conversations."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.state.errors import ToolError
from manus.state.memory import add_to_memory, memory_file
from manus.tools.base import AgentTool, Arguments
from manus.tools.result import Observation

REMEMBER = "remember"


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
        return "it is kept for all later conversations"

    @override
    async def observe(self, fact: str, **_: Any) -> Observation:
        try:
            is_new = await asyncio.to_thread(add_to_memory, fact)
        except OSError as error:
            raise ToolError(f"{memory_file()} cannot be written: {error.strerror}.") from None
        return Observation("It is kept." if is_new else "It is kept already.")
