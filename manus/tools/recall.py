"""`recall`: look into what was taken out of the conversation."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.execution.archive import FROM, Archived
from manus.execution.base import AgentTool, Arguments
from manus.execution.result import Observation
from manus.prompts.sources import framed
from manus.state.errors import ToolError, ToolUnavailableError
from manus.tools.web.excerpt import excerpt

NAME = "recall"
_NUMBERS = re.compile(r"\s*(?:\d{1,9}|\[?\s*#\s*\d{1,9}(?:\s*[,;–-]\s*#?\s*\d{1,9})*\s*\]?)\s*")
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*#?\s*(\d+))?")
_MOST = 20
"""Messages that a range of numbers stands for at most."""
_MORE = "(The numbers are of {} messages more; ask with a larger `limit`.)"
_BRANCHES = (
    "(The user went back to an earlier point of this conversation: of messages with the same "
    "number, only one was said in this course of it. Go by your notes.)"
)
_SHOWN = 1_500
"""Characters of the message that fits best, and of each other the less the less it fits.

One that is asked for by its number is shown in full.
"""
NOTHING = "Nothing was found; try other words, such as a name, a path or a number in it."


class RecallArgs(Arguments):
    """Arguments of `recall`."""

    query: str = Field(
        description="Words to look for (shows excerpts), or numbers of messages as the summary "
        "gives them, for all of each: `#12`"
    )
    limit: int = Field(5, ge=1, le=20, description="How many messages at most")


class Recall(AgentTool):
    """Searches the archive of the thread."""

    name: str = NAME
    description: str = (
        "Search the earlier messages of this conversation that were replaced by the summary: what "
        "you and the tools said. Use it before you do again what was done already."
    )
    args_schema: type[BaseModel] = RecallArgs
    without_effect: ClassVar[bool] = True

    @override
    async def observe(self, query: str, limit: int = 5, **_: Any) -> Observation:
        if not query.strip():
            raise ToolError("`query` is empty; give words to look for, or a number such as `#12`.")
        return Observation(await asyncio.to_thread(self._recall, query, limit))

    def _recall(self, query: str, limit: int) -> str:
        archive = self.session.archive
        try:
            numbers = _numbers(query)
            named = [m for number in numbers[:limit] for m in archive.numbered(number)]
            if named:
                more = [_MORE.format(len(numbers) - limit)] if len(numbers) > limit else []
                if len({m.number for m in named}) < len(named):
                    more.append(_BRANCHES)
                return "\n\n".join([*(_said(m, m.text) for m in named), *more])
            found = archive.search(query, limit)
        except (sqlite3.Error, OSError) as error:
            raise ToolUnavailableError(f"The archive cannot be read: {error}.") from None
        shown = (_said(m, excerpt(m.text, query, _SHOWN // n)) for n, m in enumerate(found, 1))
        return "\n\n".join(shown) or NOTHING


def _numbers(query: str) -> list[int]:
    """The numbers of messages that a query consists of; none if it has words."""
    if not _NUMBERS.fullmatch(query):
        return []
    numbers: list[int] = []
    for first, last in _RANGE.findall(query):
        begin = int(first)
        numbers += range(begin, min(int(last or first), begin + _MOST) + 1)
    return list(dict.fromkeys(numbers))


def _said(message: Archived, text: str) -> str:
    """What was said, by whom; in a frame again if it came from outside."""
    name, _, source = message.who.partition(FROM)
    return f"[#{message.number}] {name}:\n{framed(text, source)}"
