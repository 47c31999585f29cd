"""`recall`: look into what was taken out of the conversation."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from typing import Any

from pydantic import BaseModel, Field
from typing_extensions import override

from state.errors import ToolError, ToolUnavailableError
from tools.archive import Archived
from tools.base import AgentTool, Arguments
from tools.locks import Touch
from tools.result import Observation

NAME = "recall"
_NUMBER = re.compile(r"\s*#?\s*(\d{1,9})\s*")
_SHOWN = 1_500
"""Characters of each message found; of one asked for by its number all."""
NOTHING = "Nothing was found; try other words, such as a name, a path or a number in it."


class RecallArgs(Arguments):
    """Arguments of `recall`."""

    query: str = Field(
        description="Words to look for, or the number of a message as the summary gives it: `#12`"
    )
    limit: int = Field(5, ge=1, le=20, description="How many messages at most")


class Recall(AgentTool):
    """Searches the archive of the thread."""

    name: str = NAME
    description: str = (
        "Search the earlier messages of this conversation that were replaced by the summary: what "
        "you and the tools said, in full. Use it before you do again what was done already."
    )
    args_schema: type[BaseModel] = RecallArgs

    @override
    def touches(self, args: dict[str, Any]) -> frozenset[Touch]:
        return frozenset()

    @override
    def repeatable(self, args: dict[str, Any]) -> bool:
        return True

    @override
    async def observe(self, query: str, limit: int = 5, **_: Any) -> Observation:
        if not query.strip():
            raise ToolError("`query` is empty; give words to look for, or a number such as `#12`.")
        return Observation(await asyncio.to_thread(self._recall, query, limit))

    def _recall(self, query: str, limit: int) -> str:
        archive = self.session.archive
        try:
            if number := _NUMBER.fullmatch(query):
                found = archive.numbered(int(number[1]))
                if found:
                    return "\n\n".join(f"{_head(m)}\n{m.text}" for m in found)
            found = archive.search(query, limit)
        except (sqlite3.Error, OSError) as error:
            raise ToolUnavailableError(f"The archive cannot be read: {error}.") from None
        return "\n\n".join(f"{_head(m)}\n{excerpt(m.text, query)}" for m in found) or NOTHING


def _head(message: Archived) -> str:
    return f"[#{message.number}] {message.who}:"


def excerpt(text: str, query: str, size: int = _SHOWN) -> str:
    """The part of a text around the first of the words that it holds; all of it if it is short."""
    if len(text) <= size:
        return text
    lower = text.lower()
    places = [place for word in query.lower().split() if (place := lower.find(word)) >= 0]
    begin = max(0, min(places, default=0) - size // 3)
    end = min(len(text), begin + size)
    before, after = "… " if begin else "", " …" if end < len(text) else ""
    return f"{before}{text[begin:end]}{after}"
