"""Normalize the stream of one reply to the chat completions protocol.

Deviations observed in servers: calls without an index or all with the same one
(github.com/ollama/ollama/issues/7881, /15457); name, id, finish reason or usage with each chunk;
arguments as an object or null, ids as numbers or missing, text in blocks; an error where the reply
should be; one JSON body instead of a stream; usage as text or null, or without reasoning tokens.
"""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

from manus.models.reasoning import (
    CALL_FIELDS,
    MESSAGE_FIELDS,
    REASONING,
    ReasoningSplitter,
    SealedReader,
)
from manus.models.tokens import usage_metadata
from manus.models.tool_calls import with_calls

MAX_REPLY = 2_000_000
"""Characters of a reply, thoughts included; the rest is not read."""
_FAILED = ("error", "abort", "network_error", "insufficient_system_resource")
"""Finish reasons of a failed reply: OpenRouter, vLLM, Zhipu, DeepSeek."""

Json = dict[str, Any]


class ReplyReader:
    """Reader of one reply, whose chunks it is fed in order."""

    def __init__(self) -> None:
        self.has_begun = False
        """Whether there is a reply at all, even an empty one."""
        self.is_complete = False
        """Whether the reply has ended: a finish reason, `[DONE]`, or one whole body."""
        self.is_over = False
        """Whether the reply exceeds the limit, so that the rest is not read."""
        self._size = 0
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._usage: Json = {}
        self._calls: list[Json] = []
        self._call_numbers: dict[Any, int] = {}
        """The position in `_calls` of the newest call of each index."""
        self._splitter = ReasoningSplitter()
        self._sealed: SealedReader | None = None
        self._metadata: Json = {"model_provider": "openai"}

    def feed(self, chunk: Any) -> AIMessageChunk | None:
        """Return what a chunk adds to the reply; None if it adds nothing.

        Raises:
            ValueError: the chunk is an error; the argument is the server's description of it.
        """
        if not isinstance(chunk, dict):
            return None
        choice = _first_choice(chunk)
        _raise_if_failed(chunk, choice)
        if isinstance(chunk.get("usage"), dict):
            self._usage = chunk["usage"]
        if isinstance(chunk.get("model"), str):
            self._metadata["model_name"] = chunk["model"]
        if not choice:
            return None
        self.has_begun = True
        reason = choice.get("finish_reason")
        if reason:
            self._metadata.setdefault("finish_reason", str(reason))
            self.is_complete = True
        delta = choice.get("delta")
        message = choice.get("message")
        is_whole = not delta and isinstance(message, dict)
        content = message if is_whole else delta
        if not isinstance(content, dict) or not content:
            return None
        return self._read(content, is_whole=is_whole)

    def end(self) -> AIMessageChunk:
        """Return what was held back until the stream ended."""
        reasoning, text = self._splitter.feed("", is_last=True)
        return self._add(reasoning, text, [], is_last=True)

    def message(self) -> AIMessage:
        """Return the whole reply, once it has ended; with its calls as they were sent."""
        extra_fields = self._sealed.fields(len(self._calls)) if self._sealed else {}
        reasoning = "".join(self._reasoning)
        if reasoning:
            extra_fields[REASONING] = reasoning
        if self.is_over:
            self._metadata["finish_reason"] = "length"
        message = AIMessage(
            content="".join(self._text),
            additional_kwargs=extra_fields,
            usage_metadata=usage_metadata(self._usage),
            response_metadata=self._metadata,
        )
        return with_calls(message, self._calls)

    def _read(self, delta: Json, *, is_whole: bool) -> AIMessageChunk | None:
        text, reasoning = _read_text(delta)
        if text and not isinstance(delta.get("content"), list):
            inner_reasoning, text = self._splitter.feed(text)
            reasoning = reasoning or inner_reasoning
        if not MESSAGE_FIELDS.isdisjoint(delta):
            self._sealed = self._sealed or SealedReader()
            self._sealed.feed(delta, is_whole=is_whole)
        call_chunks = self._read_calls(delta.get("tool_calls"), is_whole=is_whole)
        if not (text or reasoning or call_chunks):
            return None
        return self._add(reasoning, text, call_chunks)

    def _read_calls(self, calls: Any, *, is_whole: bool) -> list[ToolCallChunk]:
        """Return what the `tool_calls` of a delta, or of a whole message, add to the calls."""
        entries = calls if isinstance(calls, list) else [calls]
        chunks = []
        for position, entry in enumerate(entries):
            if isinstance(entry, dict) and (entry.get("function") or not is_whole):
                chunks.append(self._add_call_chunk(entry, position))
        return chunks

    def _add(
        self, reasoning: str, text: str, call_chunks: list[ToolCallChunk], *, is_last: bool = False
    ) -> AIMessageChunk:
        self._text.append(text)
        self._reasoning.append(reasoning)
        self._size += len(text) + len(reasoning)
        self._size += sum(len(chunk["args"] or "") for chunk in call_chunks)
        self.is_over = self._size > MAX_REPLY
        # not validated: LangChain would try to complete the JSON in each chunk of a call; and all
        # fields are set, since pydantic inspects the default factory of each missing one
        return AIMessageChunk.model_construct(
            content=text,
            additional_kwargs={REASONING: reasoning} if reasoning else {},
            response_metadata={},
            tool_calls=[],
            invalid_tool_calls=[],
            tool_call_chunks=call_chunks,
            chunk_position="last" if is_last else None,
        )

    def _add_call_chunk(self, chunk: Json, position: int) -> ToolCallChunk:
        """Add a chunk to its call; return it with the call's number, id and name only at first.

        `position` is that of the chunk among the calls of its delta.
        """
        function = chunk.get("function") or {}
        name = str(function.get("name") or "")
        arguments = _arguments_text(function.get("arguments"))
        call_id = None
        if chunk.get("id") not in (None, ""):
            call_id = str(chunk["id"])
        number = self._find_call(chunk.get("index"), position, call_id, name)
        call = self._calls[number]
        new_id = None
        if not call["id"]:
            new_id = call["id"] = call_id
        new_name = None
        if not call["name"] and name:
            new_name = call["name"] = name
        call["args"] += arguments
        if not CALL_FIELDS.isdisjoint(chunk):
            self._sealed = self._sealed or SealedReader()
            self._sealed.feed_call(number, chunk)
        return tool_call_chunk(name=new_name, args=arguments, id=new_id, index=number)

    def _find_call(self, index: Any, position: int, call_id: str | None, name: str) -> int:
        """Return the number of the call that a chunk belongs to; start a new call if needed.

        A call starts at a new index (its `position` if it has none), or at another id with a name.
        """
        if index is None:
            index = position
        number = self._call_numbers.get(index)
        if number is not None:
            is_same_id = self._calls[number]["id"] in (None, call_id)
            if is_same_id or not (name and call_id):
                return number
        number = len(self._calls)
        self._call_numbers[index] = number
        self._calls.append({"id": None, "name": "", "args": ""})
        return number


def _first_choice(chunk: Json) -> Json:
    choices = chunk.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return {}


def _arguments_text(arguments: Any) -> str:
    arguments = arguments or ""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False)


def _raise_if_failed(chunk: Json, choice: Json) -> None:
    """Raise a ValueError if a chunk is an error: some servers send one with status 200."""
    error = chunk.get("error") or choice.get("error")
    if error:
        raise ValueError({"message": error} if isinstance(error, str) else error)
    if chunk.get("object") == "error":
        raise ValueError(chunk)
    reason = choice.get("finish_reason")
    if reason in _FAILED:
        raise ValueError({"message": f"generation of the reply failed (finish reason `{reason}`)"})


def _read_text(delta: Json) -> tuple[str, str]:
    """Return the text of a chunk, and the reasoning in it."""
    content = delta.get("content")
    blocks = content if isinstance(content, list) else []
    if isinstance(content, str):
        text = content
    else:
        text = "".join(_block_text(block, "text") for block in blocks)
    for name in (REASONING, "reasoning"):
        reasoning = delta.get(name)
        if isinstance(reasoning, str) and reasoning:
            return text, reasoning
    texts = []
    if "reasoning_details" in delta:
        texts = _texts_in_details(delta["reasoning_details"])
    texts += [_block_text(block, "thinking") for block in blocks]
    return text, "".join(texts)


def _texts_in_details(details: Any) -> list[str]:
    """Return the texts in `reasoning_details`, a list of entries with `text` or `summary`."""
    texts = []
    for entry in details if isinstance(details, list) else ():
        if isinstance(entry, dict):
            values = (entry.get("text"), entry.get("summary"))
            texts += [value for value in values if isinstance(value, str)]
    return texts


def _block_text(block: Any, kind: str) -> str:
    """Return the text of a block of this kind; a thought may itself consist of blocks."""
    if isinstance(block, str):
        return block if kind == "text" else ""
    if not isinstance(block, dict) or block.get("type") != kind:
        return ""
    inner = block.get(kind)
    if isinstance(inner, str):
        return inner
    return "".join(_block_text(inner_block, "text") for inner_block in inner or ())
