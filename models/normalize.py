"""The stream of one reply, brought into the form that the chat completions protocol has.

What servers were seen to do otherwise: calls without an index or all with the same one
(github.com/ollama/ollama/issues/7881, /15457); name, id, finish reason or figures with each piece;
arguments as an object or null, ids as numbers or none, a text in blocks; an error where the reply
should be; one JSON body in place of a stream.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

from manus.models.reasoning import IN_TEXT, REASONING, THOUGHT_AS, SealedReader, ThoughtReader
from manus.models.replies import CUT_OFF
from manus.models.server_usage import newest, usage_in, usage_metadata
from manus.models.tool_calls import is_whole, with_calls

MOST_REPLY = 2_000_000
"""Characters of a reply, thoughts included; what comes after them is not read."""
_TOGETHER = 100
_MOST_TOGETHER = 1_000
"""Characters of arguments that are shown at once, at least and at most. LangChain tries to parse
each piece: of very many that takes longer than all else, of a long one that is no JSON minutes."""
_REASONING_NAMES = (REASONING, "reasoning", IN_TEXT)
_FAILED = ("error", "abort", "network_error", "insufficient_system_resource")
"""Why a reply ended that is no reply: OpenRouter, vLLM, Zhipu, DeepSeek."""

_MARKS = re.compile(r'["\[\]{}]|\\.?', re.DOTALL)
"""What follows a backslash is no mark, also where a piece ends between the two."""

Json = dict[str, Any]


@dataclass(slots=True)
class _Call:
    id: str | None = None
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    depth: int = 0
    in_text: bool = False
    is_escaped: bool = False
    may_be_whole: bool = False
    """Whether the brackets are even. Only then the arguments are read: a server may repeat the name
    with each piece, and to read all that has come with each of them takes minutes."""
    held: str = ""
    """Arguments that are not shown yet."""

    @property
    def args(self) -> str:
        return "".join(self.pieces)

    def add(self, piece: str) -> None:
        """Take a piece of the arguments."""
        self.pieces.append(piece)
        self.size += len(piece)
        self._count(piece)
        self.held += piece

    def shown(self, place: int) -> list[ToolCallChunk]:
        """What was held, which is shown now."""
        held, self.held = self.held, ""
        begins = range(0, len(held), _MOST_TOGETHER)
        return [tool_call_chunk(args=held[n : n + _MOST_TOGETHER], index=place) for n in begins]

    def is_whole(self) -> bool:
        """Whether the arguments are a whole JSON object."""
        return self.may_be_whole and is_whole(self.args)

    def _count(self, piece: str) -> None:
        """Follow the brackets that stand outside of texts."""
        if not piece:
            return
        begin, self.is_escaped = int(self.is_escaped), False
        for found in _MARKS.finditer(piece, begin):
            mark = found[0]
            if mark == '"':
                self.in_text = not self.in_text
            elif mark[0] == "\\":
                self.is_escaped = len(mark) == 1
            elif not self.in_text:
                self.depth += 1 if mark in "[{" else -1
        self.may_be_whole = not (self.depth or self.in_text)


class ReplyReader:
    """Takes the chunks of one reply in their order."""

    def __init__(self) -> None:
        self.has_begun = False
        """Whether there is a reply at all, if an empty one."""
        self.is_over = False
        """Whether it is as long as a reply may be: the rest is not to be read."""
        self._size = 0
        self._text: list[str] = []
        self._thought: list[str] = []
        self._usage: Json = {}
        self._calls: list[_Call] = []
        self._places: dict[Any, int] = {}
        self._thoughts = ThoughtReader()
        self._sealed = SealedReader()
        self._reasoning_name = ""
        self._about: Json = {"model_provider": "openai"}
        self._is_stream = False

    def feed(self, chunk: Any) -> AIMessageChunk | None:
        """What a chunk adds to the reply; None for nothing.

        Raises:
            ValueError: it is an error; its argument is what the server says of it.
        """
        if not isinstance(chunk, dict):
            return None
        _raise_if_error(chunk)
        self._usage = newest(self._usage, usage_in(chunk))
        if isinstance(chunk.get("model"), str):
            self._about["model_name"] = chunk["model"]
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return None
        _raise_if_failed(choice)
        self.has_begun = True
        if (reason := choice.get("finish_reason")) and "finish_reason" not in self._about:
            self._about["finish_reason"] = str(reason)
        delta = choice.get("delta")
        whole = not delta and isinstance(choice.get("message"), dict)
        said = choice["message"] if whole else delta
        self._is_stream |= not whole
        return self._read(said, whole=whole) if isinstance(said, dict) and said else None

    def end(self) -> AIMessageChunk:
        """What was not shown before the stream ended."""
        thought, said = self._thoughts.end()
        self._text.append(said)
        self._thought.append(thought)
        if thought:
            self._reasoning_name = self._reasoning_name or IN_TEXT
        held = [piece for place, call in enumerate(self._calls) for piece in call.shown(place)]
        return AIMessageChunk(
            content=said,
            additional_kwargs={REASONING: thought} if thought else {},
            tool_call_chunks=held,
            chunk_position="last",
        )

    def message(self) -> AIMessage:
        """The reply, once it has ended; its calls as they were sent."""
        beside: Json = self._sealed.kept(len(self._calls))
        if thought := "".join(self._thought):
            beside[REASONING] = thought
        if self._reasoning_name not in ("", REASONING):
            beside[THOUGHT_AS] = self._reasoning_name
        if self.is_over:
            self._about["finish_reason"] = "length"
        if self._is_stream and "finish_reason" not in self._about:
            beside[CUT_OFF] = True
        message = AIMessage(
            content="".join(self._text),
            additional_kwargs=beside,
            usage_metadata=usage_metadata(self._usage),
            response_metadata=self._about,
        )
        return with_calls(
            message, [{"id": c.id, "name": c.name, "args": c.args} for c in self._calls]
        )

    def _read(self, delta: Json, *, whole: bool) -> AIMessageChunk | None:
        text, thought = _text_of(delta), _thought_of(delta)
        name = _reasoning_name(delta)
        if not isinstance(delta.get("content"), list) and text:
            inner, text = self._thoughts.feed(text)
            thought, name = (thought, name) if thought else (inner, IN_TEXT if inner else "")
        self._reasoning_name = self._reasoning_name or (name if thought else "")
        self._sealed.feed(delta, whole=whole)
        calls = delta.get("tool_calls")
        found = calls if isinstance(calls, list) else [calls]
        read = [self._pieces(one) for one in found if one and _is_call(one, whole=whole)]
        pieces = [piece for shown in read for piece in shown]
        self._text.append(text)
        self._thought.append(thought)
        self._size += len(text) + len(thought)
        self.is_over = self._size + sum(call.size for call in self._calls) > MOST_REPLY
        if not (text or thought or pieces):
            return None
        beside = {REASONING: thought} if thought else {}
        return AIMessageChunk(content=text, additional_kwargs=beside, tool_call_chunks=pieces)

    def _pieces(self, piece: Json) -> list[ToolCallChunk]:
        """What is shown of a piece of a call: with its place, and id and name only at first."""
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        name, args = str(function.get("name") or ""), function.get("arguments") or ""
        args = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        id_ = str(piece["id"]) if piece.get("id") not in (None, "") else None
        place = self._place(piece.get("index"), id_, name, args)
        call = self._calls[place]
        args = args if call.size or args.strip() else ""
        new_id = id_ if call.id is None else None
        # a name may come in pieces; one that is sent again says nothing
        is_same = bool(name) and call.is_whole()
        new_name = "" if name in ("", call.name) or is_same else name
        call.add("" if is_same and args == call.args else args)
        call.id, call.name = call.id or new_id, call.name + new_name
        self._sealed.feed_call(place, piece)
        begins = [tool_call_chunk(name=new_name or None, args="", id=new_id, index=place)]
        is_new = bool(new_name) or new_id is not None
        shown = call.shown(place) if is_new or len(call.held) >= _TOGETHER else []
        return [*begins, *shown] if is_new else shown

    def _place(self, index: Any, id_: str | None, name: str, args: str) -> int:
        """Which call a piece belongs to; a new one where it begins one."""
        known = self._places.get(index)
        if known is None and index is None and self._calls:
            known = len(self._calls) - 1
        if known is None or _begins(self._calls[known], id_, name, args):
            self._calls.append(_Call())
            known = len(self._calls) - 1
        self._places[index] = known
        return known


def _is_call(piece: Any, *, whole: bool) -> bool:
    """Whether something is a call, or a piece of one; a whole one has a name."""
    if not isinstance(piece, dict) or not whole:
        return isinstance(piece, dict)
    function = piece.get("function")
    return isinstance(function, dict) and bool(function.get("name"))


def _begins(call: _Call, id_: str | None, name: str, args: str) -> bool:
    """Whether a piece at the place of a call begins another one."""
    other = id_ is not None and call.id is not None and id_ != call.id
    if not name or not (call.is_whole() or (not call.size and other)):
        return False
    same = id_ is not None and id_ == call.id
    return not same and (other or (name, args) != (call.name, call.args))


def _raise_if_error(said: Json) -> None:
    """See that a body is no error: some servers send one with status 200, or as a chunk."""
    if error := said.get("error"):
        raise ValueError({"message": error} if isinstance(error, str) else error)
    bare = isinstance(said.get("message"), str) and not said.get("usage")
    if not said.get("choices") and (said.get("object") == "error" or bare):
        raise ValueError(said)


def _raise_if_failed(choice: Json) -> None:
    """See that a reply did not fail while it was being written."""
    if choice.get("error"):
        raise ValueError(choice["error"])
    if (reason := choice.get("finish_reason")) in _FAILED:
        raise ValueError({"message": f"the reply failed on the way (finish reason `{reason}`)"})


def _text_of(delta: Json) -> str:
    content = delta.get("content")
    if isinstance(content, list):
        return "".join(_in_block(block, "text") for block in content)
    text = content if isinstance(content, str) else ""
    refusal = delta.get("refusal")
    return text or (refusal if isinstance(refusal, str) else "")


def _in_block(block: Any, kind: str) -> str:
    """The text in a block of that kind; a thought may be in blocks itself."""
    if isinstance(block, str):
        return block if kind == "text" else ""
    if not isinstance(block, dict) or block.get("type") != kind:
        return ""
    inner = block.get(kind)
    if isinstance(inner, list):
        return "".join(_in_block(one, "text") for one in inner)
    return inner if isinstance(inner, str) else ""


def _reasoning_name(delta: Json) -> str:
    """The field in which a piece of a reply has the words of a thought; "" for none."""
    return next((n for n in _REASONING_NAMES if isinstance(delta.get(n), str) and delta[n]), "")


def _thought_of(delta: Json) -> str:
    """What a piece of a reply says of the model's thinking."""
    if name := _reasoning_name(delta):
        return str(delta[name])
    if isinstance(content := delta.get("content"), list):
        return "".join(_in_block(block, "thinking") for block in content)
    details = delta.get("reasoning_details")
    found = [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []
    texts = (d.get(name) for d in found for name in ("text", "summary"))
    return "".join(text for text in texts if isinstance(text, str))
