"""The stream of one reply, brought into the form that the chat completions protocol has.

What servers were seen to do otherwise: calls without an index or all with the same one
(github.com/ollama/ollama/issues/7881, /15457); name, id, finish reason or figures with each piece;
arguments as an object or null, ids as numbers or none, a text in blocks; an error where the reply
should be; one JSON body in place of a stream; figures as text or null, or without what was thought.
"""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

from manus.models.reasoning import REASONING, SealedReader, ThoughtReader
from manus.models.tokens import usage_metadata
from manus.models.tool_calls import with_calls

MOST_REPLY = 2_000_000
"""Characters of a reply, thoughts included; what comes after them is not read."""
_FAILED = ("error", "abort", "network_error", "insufficient_system_resource")
"""Why a reply ended that is no reply: OpenRouter, vLLM, Zhipu, DeepSeek."""

Json = dict[str, Any]


class ReplyReader:
    """Takes the chunks of one reply in their order."""

    def __init__(self) -> None:
        self.has_begun = False
        """Whether there is a reply at all, if an empty one."""
        self.is_complete = False
        """Whether the reply has its end: a finish reason, `[DONE]`, or a body in one piece."""
        self.is_over = False
        """Whether it is as long as a reply may be: the rest is not to be read."""
        self._size = 0
        self._text: list[str] = []
        self._thought: list[str] = []
        self._usage: Json = {}
        self._calls: list[Json] = []
        self._places: dict[Any, int] = {}
        """Of each index the newest call's place among all."""
        self._thoughts = ThoughtReader()
        self._sealed = SealedReader()
        self._about: Json = {"model_provider": "openai"}

    def feed(self, chunk: Any) -> AIMessageChunk | None:
        """What a chunk adds to the reply; None for nothing.

        Raises:
            ValueError: it is an error; its argument is what the server says of it.
        """
        if not isinstance(chunk, dict):
            return None
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        choice = choice if isinstance(choice, dict) else {}
        _raise_if_failed(chunk, choice)
        if isinstance(used := chunk.get("usage"), dict):
            self._usage = used
        if isinstance(chunk.get("model"), str):
            self._about["model_name"] = chunk["model"]
        if not choice:
            return None
        self.has_begun = True
        if reason := choice.get("finish_reason"):
            self._about.setdefault("finish_reason", str(reason))
            self.is_complete = True
        delta = choice.get("delta")
        whole = not delta and isinstance(choice.get("message"), dict)
        said = choice["message"] if whole else delta
        return self._read(said, whole=whole) if isinstance(said, dict) and said else None

    def end(self) -> AIMessageChunk:
        """What was not shown before the stream ended."""
        return self._shown(*self._thoughts.feed("", is_last=True), [], is_last=True)

    def message(self) -> AIMessage:
        """The reply, once it has ended; its calls as they were sent."""
        beside = self._sealed.kept()
        if thought := "".join(self._thought):
            beside[REASONING] = thought
        if self.is_over:
            self._about["finish_reason"] = "length"
        message = AIMessage(
            content="".join(self._text),
            additional_kwargs=beside,
            usage_metadata=usage_metadata(self._usage),
            response_metadata=self._about,
        )
        return with_calls(message, self._calls)

    def _read(self, delta: Json, *, whole: bool) -> AIMessageChunk | None:
        text, thought = _said_in(delta)
        if text and not isinstance(delta.get("content"), list):
            inner, text = self._thoughts.feed(text)
            thought = thought or inner
        self._sealed.feed(delta, whole=whole)
        calls = delta.get("tool_calls")
        found = calls if isinstance(calls, list) else [calls]
        pieces = [
            self._piece(one, place)
            for place, one in enumerate(found)
            if isinstance(one, dict) and (one.get("function") or not whole)
        ]
        return self._shown(thought, text, pieces) if text or thought or pieces else None

    def _shown(
        self, thought: str, text: str, pieces: list[ToolCallChunk], *, is_last: bool = False
    ) -> AIMessageChunk:
        self._text.append(text)
        self._thought.append(thought)
        self._size += len(text) + len(thought) + sum(len(piece["args"] or "") for piece in pieces)
        self.is_over = self._size > MOST_REPLY
        # not validated: LangChain would try to complete the JSON in each piece of a call; and
        # whole, since pydantic looks at the signature of what makes a value that is left out
        return AIMessageChunk.model_construct(
            content=text,
            additional_kwargs={REASONING: thought} if thought else {},
            response_metadata={},
            tool_calls=[],
            invalid_tool_calls=[],
            tool_call_chunks=pieces,
            chunk_position="last" if is_last else None,
        )

    def _piece(self, piece: Json, place: int) -> ToolCallChunk:
        """What a piece adds to a call: with its place, and id and name only at first.

        A call begins at a new index, which is its `place` where it has none, or at another id
        beside a name.
        """
        function = piece.get("function") or {}
        name = str(function.get("name") or "")
        args = function.get("arguments") or ""
        args = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        id_ = str(piece["id"]) if piece.get("id") not in (None, "") else None
        index = place if piece.get("index") is None else piece["index"]
        known = self._places.get(index)
        if known is None or (name and id_ and self._calls[known]["id"] not in (None, id_)):
            known = self._places[index] = len(self._calls)
            self._calls.append({"id": None, "name": "", "args": ""})
        call = self._calls[known]
        new_id = None if call["id"] else id_
        new_name = None if call["name"] else name or None
        call["id"] = call["id"] or id_
        call["name"] = call["name"] or name
        call["args"] += args
        self._sealed.feed_call(known, piece)
        return tool_call_chunk(name=new_name, args=args, id=new_id, index=known)


def _raise_if_failed(chunk: Json, choice: Json) -> None:
    """See that a body is no error: some servers send one with status 200, or as a chunk."""
    if error := chunk.get("error") or choice.get("error"):
        raise ValueError({"message": error} if isinstance(error, str) else error)
    if chunk.get("object") == "error":
        raise ValueError(chunk)
    if (reason := choice.get("finish_reason")) in _FAILED:
        raise ValueError({"message": f"the reply failed on the way (finish reason `{reason}`)"})


def _said_in(delta: Json) -> tuple[str, str]:
    """What a piece of a reply says, and what it tells of the model's thinking."""
    content = delta.get("content")
    blocks = content if isinstance(content, list) else []
    text = content if isinstance(content, str) else "".join(_in_block(b, "text") for b in blocks)
    for name in (REASONING, "reasoning"):
        if isinstance(thought := delta.get(name), str) and thought:
            return text, thought
    details = delta.get("reasoning_details")
    found = [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []
    thoughts = [entry.get(name) for entry in found for name in ("text", "summary")]
    thoughts += [_in_block(block, "thinking") for block in blocks]
    return text, "".join(said for said in thoughts if isinstance(said, str))


def _in_block(block: Any, kind: str) -> str:
    """The text in a block of that kind; a thought may be in blocks itself."""
    if isinstance(block, str):
        return block if kind == "text" else ""
    if not isinstance(block, dict) or block.get("type") != kind:
        return ""
    inner = block.get(kind)
    return inner if isinstance(inner, str) else "".join(_in_block(b, "text") for b in inner or ())
