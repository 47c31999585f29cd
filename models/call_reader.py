"""Reading calls out of a text while it is still coming, so that they stream as native ones do."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_HEAD = re.compile(
    r"\s*\{\s*\"name\"\s*:\s*\"([\w.-]{1,64})\"\s*,\s*\"(?:arguments|parameters)\"\s*:\s*(?=\{)"
)
_END = re.compile(rf"{CLOSE}|(?={OPEN})")

Read = Callable[[str], tuple[str, str]]
"""Name and arguments of a call from its whole body."""


class CallReader:
    """Takes a reply piece by piece; gives the text beside its calls, and pieces of the calls.

    Attributes:
        said: All that has come so far.
        ids: Those given to the calls, in order.
    """

    def __init__(self, read: Read) -> None:
        self.said = ""
        self.ids: list[str] = []
        self._read = read
        self._held = ""
        self._call: _Call | None = None

    def feed(self, piece: str) -> tuple[str, list[ToolCallChunk]]:
        """What can be shown after this piece and could not before."""
        self.said += piece
        self._held += piece
        text, calls = "", list[ToolCallChunk]()
        while True:
            if self._call is None:
                before, found, rest = self._held.partition(OPEN)
                if not found:
                    text += self._release()
                    return text, calls
                text += before
                self._begin(rest)
            elif (end := _END.search(self._held)) is not None:
                calls += self._call.feed(self._held[: end.start()]) + self._call.end()
                self._held = self._held[end.end() :]
                self._call = None
            else:
                calls += self._call.feed(self._release())
                return text, calls

    def end(self) -> tuple[str, list[ToolCallChunk]]:
        """What was held back."""
        rest, self._held = self._held, ""
        if self._call is None:
            return rest, []
        call, self._call = self._call, None
        return "", call.feed(rest) + call.end()

    def _begin(self, rest: str) -> None:
        self.ids.append(f"call_{uuid.uuid4().hex[:24]}")
        self._call = _Call(len(self.ids) - 1, self.ids[-1], self._read)
        self._held = rest

    def _release(self) -> str:
        """What of the text cannot be the beginning of a tag."""
        held = next(
            (
                size
                for size in range(min(len(CLOSE), len(self._held)), 0, -1)
                if OPEN.startswith(tail := self._held[-size:]) or CLOSE.startswith(tail)
            ),
            0,
        )
        cut = len(self._held) - held
        free, self._held = self._held[:cut], self._held[cut:]
        return free


class _Call:
    """One call: its name as soon as it is known, then its arguments up to their last brace."""

    def __init__(self, index: int, id_: str, read: Read) -> None:
        self._index = index
        self._id = id_
        self._read = read
        self._body = ""
        self._shown: int | None = None
        self._depth = 0
        self._in_text = self._escaped = self._is_over = False

    def feed(self, piece: str) -> list[ToolCallChunk]:
        self._body += piece
        chunks = []
        if self._shown is None and (head := _HEAD.match(self._body)) is not None:
            self._shown = head.end()
            chunks.append(self._chunk(head[1], ""))
        if self._shown is not None and (come := self._arguments(self._shown)):
            chunks.append(self._chunk(None, come))
        return chunks

    def end(self) -> list[ToolCallChunk]:
        """What of the call has not been given yet: all of one in another form."""
        return [] if self._shown is not None else [self._chunk(*self._read(self._body))]

    def _chunk(self, name: str | None, args: str) -> ToolCallChunk:
        id_ = self._id if name is not None else None
        return tool_call_chunk(name=name, args=args, id=id_, index=self._index)

    def _arguments(self, start: int) -> str:
        """The arguments from a place on, up to the brace that ends them."""
        self._shown = len(self._body)
        if self._is_over:
            return ""
        for place in range(start, len(self._body)):
            if self._ends_at(self._body[place]):
                self._is_over = True
                return self._body[start : place + 1]
        return self._body[start:]

    def _ends_at(self, character: str) -> bool:
        if self._in_text:
            if self._escaped or character == "\\":
                self._escaped = not self._escaped
            elif character == '"':
                self._in_text = False
        elif character == '"':
            self._in_text = True
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
            return self._depth == 0
        return False
