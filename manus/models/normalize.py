"""Normalize the stream of one reply to the chat completions protocol.

Deviations observed in servers: calls without an index or all with the same one
(github.com/ollama/ollama/issues/7881, /15457), or without ids; names in pieces; name, id, finish
reason or usage with each chunk; arguments as an object or null, ids as numbers or missing, text in
blocks; several choices; an error where the reply should be; one JSON body instead of a stream;
usage as text or null, in the choice, or without reasoning tokens; tool calls as text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

from manus.config.provider_table import DEFAULT_PROVIDER
from manus.models.reasoning import (
    CALL_FIELDS,
    MESSAGE_FIELDS,
    REASONING,
    ReasoningSplitter,
    SealedReader,
)
from manus.models.text_calls import read_text_calls
from manus.models.text_marks import TextHolder, ToolIndex
from manus.models.tokens import usage_metadata
from manus.models.tool_calls import try_parse_arguments, with_calls
from manus.state.replies import broke_off, read_reason

MAX_REPLY = 2_000_000
"""Characters of a reply, thoughts included; the rest is not read."""

Json = dict[str, Any]


class ReplyReader:
    """Reader of one reply, whose chunks it is fed in order."""

    def __init__(self, tools: Sequence[Json] = ()) -> None:
        """Prepare for a reply to a request that offers these tools."""
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
        self._choice: Any = None
        """The index of the choice that is read; a server may send several."""
        self._tools = ToolIndex(tools)
        self._holder = TextHolder(self._tools) if tools else None
        self._splitter = ReasoningSplitter()
        self._sealed: SealedReader | None = None
        self._metadata: Json = {"model_provider": DEFAULT_PROVIDER}

    def feed(self, chunk: Any) -> AIMessageChunk | None:
        """Return what a chunk adds to the reply; None if it adds nothing.

        Raises:
            ValueError: the chunk is an error; the argument is the server's description of it.
        """
        if not isinstance(chunk, dict):
            return None
        choice = self._find_choice(chunk)
        _raise_if_failed(chunk, choice)
        for usage in (chunk.get("usage"), choice.get("usage")):
            if isinstance(usage, dict):
                self._usage = usage
        if isinstance(chunk.get("model"), str):
            self._metadata["model_name"] = chunk["model"]
        if not choice:
            return None
        self.has_begun = True
        self._read_reason(choice)
        delta = choice.get("delta")
        message = choice.get("message")
        is_whole = not delta and isinstance(message, dict)
        content = message if is_whole else delta
        if not isinstance(content, dict) or not content:
            return None
        return self._read(content, is_whole=is_whole)

    def _find_choice(self, chunk: Json) -> Json:
        """Return the choice of a chunk that is read, which is the first of the reply."""
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                continue
            if not self.has_begun:
                self._choice = choice.get("index")
            if choice.get("index") in (None, self._choice) or self._choice is None:
                return choice
        return {}

    def _read_reason(self, choice: Json) -> None:
        """Store why the reply has ended: the first reason, unless a later one is a failure."""
        for name in ("finish_reason", "native_finish_reason"):
            reason = read_reason(choice.get(name))
            if reason and (name not in self._metadata or broke_off(reason)):
                self._metadata[name] = str(choice[name])
        self.is_complete |= bool(read_reason(choice.get("finish_reason")))

    def end(self) -> AIMessageChunk:
        """Return what was held back until the stream ended; markup of calls is not shown."""
        reasoning, text = self._splitter.feed("", is_last=True)
        chunk = self._add(reasoning, text, [], is_last=True)
        if self._holder is not None:
            read = read_text_calls("".join(self._text), self._tools)
            if not (read.calls or read.is_unreadable):
                chunk.content = f"{chunk.content}{self._holder.end()}"
        return chunk

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
        calls = delta.get("tool_calls") or delta.get("function_call")  # as before parallel calls
        call_chunks = self._read_calls(calls, is_whole=is_whole)
        if not (text or reasoning or call_chunks):
            return None
        return self._add(reasoning, text, call_chunks)

    def _read_calls(self, calls: Any, *, is_whole: bool) -> list[ToolCallChunk]:
        """Return what the `tool_calls` of a delta, or of a whole message, add to the calls."""
        entries = calls if isinstance(calls, list) else [calls]
        chunks = []
        for position, entry in enumerate(entries):
            if not isinstance(entry, dict):
                continue
            function = entry.get("function")
            function = function if isinstance(function, dict) else entry
            if function.get("name") or not is_whole:
                chunks.append(self._add_call_chunk(entry, function, position))
        return chunks

    def _add(
        self, reasoning: str, text: str, call_chunks: list[ToolCallChunk], *, is_last: bool = False
    ) -> AIMessageChunk:
        self._text.append(text)
        shown = text if self._holder is None else self._holder.feed(text)
        self._reasoning.append(reasoning)
        self._size += len(text) + len(reasoning)
        self._size += sum(len(chunk["args"] or "") for chunk in call_chunks)
        self.is_over = self._size > MAX_REPLY
        # not validated: LangChain would try to complete the JSON in each chunk of a call; and all
        # fields are set, since pydantic inspects the default factory of each missing one
        return AIMessageChunk.model_construct(
            content=shown,
            additional_kwargs={REASONING: reasoning} if reasoning else {},
            response_metadata={},
            tool_calls=[],
            invalid_tool_calls=[],
            tool_call_chunks=call_chunks,
            chunk_position="last" if is_last else None,
        )

    def _add_call_chunk(self, chunk: Json, function: Json, position: int) -> ToolCallChunk:
        """Add a chunk to its call; return it with the call's number, id and name only at first.

        `function` has the name and the arguments; `position` is among the calls of the delta.
        """
        name = str(function.get("name") or "")
        arguments = _arguments_text(function.get("arguments"))
        call_id = str(chunk.get("id") or "") or None
        number = self._find_call(chunk.get("index"), position, call_id, name, arguments)
        call = self._calls[number]
        new_id = None
        if not call["id"]:
            new_id = call["id"] = call_id
        new_name = None
        if not (call["args"] and call["name"]):
            new_name = self._name_part(call["name"], name)
            call["name"] += new_name or ""
        is_placeholder = call["args"] == "{}" and not name
        call["args"] = arguments if is_placeholder and arguments else call["args"] + arguments
        if not CALL_FIELDS.isdisjoint(chunk):
            self._sealed = self._sealed or SealedReader()
            self._sealed.feed_call(number, chunk)
        return tool_call_chunk(name=new_name, args=arguments, id=new_id, index=number)

    def _name_part(self, before: str, name: str) -> str | None:
        """Return what a chunk adds to the name of its call.

        Names arrive whole, whole in each chunk, growing, or in pieces: a piece makes no name that
        is offered, or leads towards one.
        """
        if name.startswith(before):
            return name[len(before) :] or None
        is_piece = name not in self._tools or before not in self._tools
        return name if is_piece and not before.endswith(name) else None

    def _find_call(
        self, index: Any, position: int, call_id: str | None, name: str, arguments: str
    ) -> int:
        """Return the number of the call that a chunk belongs to; start a new call if needed.

        A call starts at a new index (its `position` if it has none), at another id with a name, and
        with new arguments or another name after complete arguments.
        """
        if index is None:
            index = position
        inherited_name = ""
        if call_id and not name:  # an index may be wrong
            for known, call in enumerate(self._calls):
                if call["id"] == call_id:
                    return known
        number = self._call_numbers.get(index)
        if number is not None:
            call = self._calls[number]
            is_other_id = bool(name and call_id) and call["id"] not in (None, call_id)
            if not is_other_id and not self._starts_call(call, call_id, name, arguments):
                return number
            inherited_name = "" if name else call["name"]
        number = len(self._calls)
        self._call_numbers[index] = number
        self._calls.append({"id": None, "name": inherited_name, "args": ""})
        return number

    def _starts_call(self, call: Json, call_id: str | None, name: str, arguments: str) -> bool:
        """Return whether a chunk without an id of its own starts another call."""
        is_same_id = call_id is not None and call_id == call["id"]
        if is_same_id or not (name or (call["args"] != "{}" and arguments.startswith("{"))):
            return False
        if not call["args"]:
            return name != call["name"] and name in self._tools and call["name"] in self._tools
        is_new = bool(arguments.strip()) or name != call["name"]
        return is_new and try_parse_arguments(call["args"]) is not None


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
    is_message = isinstance(chunk.get("message"), str) and "choices" not in chunk
    if chunk.get("object") == "error" or is_message:
        raise ValueError(chunk)


def _read_text(delta: Json) -> tuple[str, str]:
    """Return the text of a chunk, and the reasoning in it."""
    content = delta.get("content")
    blocks = content if isinstance(content, list) else []
    thoughts = [block.get("thinking") for block in blocks if isinstance(block, dict)]
    details = _join_texts(delta.get("reasoning_details"), "text", "summary")
    texts = (delta.get(REASONING), delta.get("reasoning"), details + _join_texts(thoughts, "text"))
    reasoning = next((text for text in texts if text and isinstance(text, str)), "")
    return _join_texts(content, "text"), reasoning


def _join_texts(value: Any, *keys: str) -> str:
    """Return the text of a value: a text, a list of values, or an object with one of the keys."""
    if isinstance(value, list):
        return "".join(_join_texts(member, *keys) for member in value)
    if isinstance(value, dict):
        return "".join(_join_texts(value.get(key), *keys) for key in keys)
    return value if isinstance(value, str) else ""
