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
from tools.archive_query import taken_apart
from tools.base import AgentTool, Arguments
from tools.locks import Touch
from tools.result import Observation

NAME = "recall"
_NUMBER = re.compile(r"\s*\d{1,9}\s*")
_NUMBERS = re.compile(r"\s*\[?\s*#\s*\d{1,9}(?:\s*[,;–-]\s*#?\s*\d{1,9})*\s*\]?\s*")
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*#?\s*(\d+))?")
_MOST = 20
"""Messages that are given by their numbers at most."""
_SHOWN = 1_500
"""Characters of each message found; of one asked for by its number all."""
EMPTY = "The archive is empty: what had been in it has gone."
NOTHING = "Nothing was found; try other words, such as a name, a path or a number in it."


class RecallArgs(Arguments):
    """Arguments of `recall`."""

    query: str = Field(
        description="Words to look for, or numbers of messages as the summary gives them: `#12`"
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
            named = [m for number in _numbers(query, limit) for m in archive.numbered(number)]
            if named:
                return "\n\n".join(f"{_head(m)}\n{m.text}" for m in named)
            found = archive.search(query, limit)
            if not found:
                return EMPTY if archive.is_empty() else NOTHING
        except (sqlite3.Error, OSError) as error:
            raise ToolUnavailableError(f"The archive cannot be read: {error}.") from None
        return "\n\n".join(f"{_head(m)}\n{excerpt(m.text, query)}" for m in found)


def _numbers(query: str, limit: int) -> list[int]:
    """The numbers of messages that a query consists of; none if it has words."""
    if not (_NUMBER.fullmatch(query) or _NUMBERS.fullmatch(query)):
        return []
    numbers: list[int] = []
    for first, last in _RANGE.findall(query):
        begin = int(first)
        numbers += range(begin, min(int(last or first), begin + _MOST) + 1)
    return numbers[: max(limit, 1)]


def _head(message: Archived) -> str:
    return f"[#{message.number}] {message.who}:"


def excerpt(text: str, query: str, size: int = _SHOWN) -> str:
    """The part of a text around the first of the words that it holds; all of it if it is short."""
    if len(text) <= size:
        return text
    lower, asked = text.lower(), taken_apart(query.lower())
    found = ([lower.find(term) for term in terms] for terms in asked)
    held = next(filter(None, ([p for p in places if p >= 0] for places in found)), [0])
    begin = max(0, min(held) - size // 3)
    end = min(len(text), begin + size)
    before, after = "… " if begin else "", " …" if end < len(text) else ""
    return f"{before}{text[begin:end]}{after}"
