"""The reasoning ("thoughts") of a model: separated from its answer, stored, and sent back.

Readable reasoning: `reasoning_content`, or `<think>…</think>` at the start of the text. Sealed
(signed or encrypted) reasoning is returned unread to the server that sent it: `reasoning_details`
(OpenRouter), `thinking_blocks` (LiteLLM), `extra_content` (Google's endpoint for this protocol), or
blocks of the content (Anthropic, Bedrock, Google's own protocol).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from manus.config.model_settings import ModelSettings
from manus.config.provider_table import CALL_SIGNATURES, DEFAULT_MODEL
from manus.models.providers import get_address

REASONING = "reasoning_content"
"""Key in a message's `additional_kwargs`: the readable reasoning of the model."""
THOUGHT_BY = "thought_by"
"""Key next to the reasoning: the `hash_origin` of the endpoint that sent it."""
LISTS = ("reasoning_details", "thinking_blocks")
EXTRA = "extra_content"
CALLS = "sealed_calls"
"""Keys of sealed reasoning; `CALLS` is a list of the fields beside each call, in call order."""
MESSAGE_FIELDS = frozenset({*LISTS, EXTRA})
"""Fields of a message's chunk that contain sealed reasoning."""
CALL_FIELDS = frozenset({EXTRA, "provider_specific_fields"})
"""Fields of a call's chunk that contain it."""
_SEALED = (*LISTS, EXTRA, CALLS)
_KINDS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
_SIGNATURES = {"signature", "thought_signature"}
_TEXTS = ("text", "summary", "thinking")
_OPEN = re.compile(r"\s*<(think|thinking|thought)>", re.IGNORECASE)
_OPENING_TAGS = ("<think>", "<thinking>", "<thought>")
# Templates that end in the opening tag leave only the closing one, on a separate line.
_ONLY_CLOSED = re.compile(r"\A(.*?)\n[ \t]*</think>[ \t]*(?:\n|\Z)", re.DOTALL)

Json = dict[str, Any]


class ReasoningSplitter:
    """Splitter of a streamed text into thought and answer.

    Tags count only at the start of the text, so that an answer may mention them.
    """

    def __init__(self) -> None:
        self._buffer = ""
        """Text that may turn out to be part of a tag."""
        self._closing_tag = ""
        """The tag that ends the thought, once one has started."""
        self._is_closed = False
        self._is_answer = False
        """Whether all that follows is the answer."""

    def feed(self, chunk: str, *, is_last: bool = False) -> tuple[str, str]:
        """Return the thought and the answer that are final after this chunk."""
        if self._is_answer:
            return "", chunk
        text = self._buffer + chunk
        self._buffer = ""
        reasoning = ""
        if not self._closing_tag:
            opening = _OPEN.match(text)
            if opening is None:
                return "", self._read_start(text, is_last=is_last)
            self._closing_tag = f"</{opening[1].lower()}>"
            text = text[opening.end() :]
        if not self._is_closed:
            end = text.lower().find(self._closing_tag)
            if end < 0:
                # hold back what may be the start of the closing tag
                tag_start = text.find("<", max(0, len(text) + 1 - len(self._closing_tag)))
                end = len(text) if is_last or tag_start < 0 else tag_start
                self._buffer = text[end:]
                return text[:end], ""
            reasoning = text[:end]
            text = text[end + len(self._closing_tag) :]
            self._is_closed = True
        answer = text.lstrip()
        self._is_answer = bool(answer)
        return reasoning, answer

    def _read_start(self, text: str, *, is_last: bool) -> str:
        """Return the text as the answer, unless it may be the start of an opening tag."""
        start = text.strip().lower()
        if not is_last and any(tag.startswith(start) for tag in _OPENING_TAGS):
            self._buffer = text
            return ""
        self._is_answer = True
        return text


def split_reasoning(text: str) -> tuple[str, str]:
    """Return the thought and the answer in a whole text."""
    match = _ONLY_CLOSED.match(text)
    if match and "<think" not in match[1].lower():
        return match[1].strip(), text[match.end() :].lstrip()
    return ReasoningSplitter().feed(text, is_last=True)


def separate_reasoning(message: AIMessage) -> AIMessage:
    """Move the thought in a reply's text to its `additional_kwargs`; return the reply."""
    if isinstance(message.content, str) and "</th" in message.content:
        reasoning, answer = split_reasoning(message.content)
        if reasoning.strip():
            message.content = answer
            message.additional_kwargs.setdefault(REASONING, reasoning.strip())
    return message


@lru_cache(64)
def hash_origin(endpoint: ModelSettings) -> str:
    """Return a hash of an endpoint's address and model, which does not reveal the address."""
    name = f"{get_address(endpoint).rstrip('/')}\n{endpoint.model or DEFAULT_MODEL}"
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def with_origin(message: AIMessage, endpoint: ModelSettings) -> AIMessage:
    """Return the reply with its endpoint's origin next to its reasoning."""
    if endpoint.send_reasoning is False:
        drop_sealed(message)
    fields = message.additional_kwargs
    has_fields = not fields.keys().isdisjoint((REASONING, CALL_SIGNATURES, *_SEALED))
    if has_fields or (isinstance(message.content, list) and has_reasoning(message)):
        fields.setdefault(THOUGHT_BY, hash_origin(endpoint))
    return message


def is_foreign(message: AIMessage, origin: str) -> bool:
    """Return whether the reasoning in a message is known to come from another endpoint."""
    return bool(message.additional_kwargs.get(THOUGHT_BY, origin) != origin)


def has_reasoning(message: AIMessage) -> bool:
    """Return whether a message has a block with a thought or a signature."""
    if not isinstance(message.content, list):
        return False
    return any(map(_is_reasoning, message.content))


def _is_reasoning(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    names = {*block, *(block.get("extras") or ())}
    return block.get("type") in _KINDS or bool(_SIGNATURES & names)


def drop_sealed(message: AIMessage) -> None:
    """Remove sealed reasoning that is never to be sent."""
    for name in _SEALED:
        message.additional_kwargs.pop(name, None)


def restore_sealed(form: Json, message: AIMessage) -> None:
    """Add sealed reasoning to the wire form of the message, each part in its original place."""
    fields = message.additional_kwargs
    form.update({name: fields[name] for name in (*LISTS, EXTRA) if name in fields})
    calls = form.get("tool_calls") or []
    sealed_calls = fields.get(CALLS) or []
    if len(calls) == len(sealed_calls):  # otherwise the calls have been changed since
        for call, sealed_fields in zip(calls, sealed_calls, strict=True):
            call.update(sealed_fields or {})


def move_sealed(message: AIMessage, old: str, new: str) -> None:
    """Assign the sealed reasoning of a call to the call's new id."""
    signatures = message.additional_kwargs.get(CALL_SIGNATURES, {})
    if old in signatures:
        signatures[new] = signatures.pop(old)
    for name in LISTS:
        for entry in message.additional_kwargs.get(name, ()):
            if entry.get("id") == old:
                entry["id"] = new


def drop_foreign_reasoning(request: Sequence[BaseMessage], origin: str) -> list[BaseMessage]:
    """Return the request without the reasoning of other endpoints; do not modify its messages.

    Calls in dropped blocks are also in the message's own calls.
    """
    messages: list[BaseMessage] = []
    for message in request:
        if isinstance(message, AIMessage) and is_foreign(message, origin):
            messages.append(_without_reasoning(message))
        else:
            messages.append(message)
    return messages


def _without_reasoning(message: AIMessage) -> AIMessage:
    fields = dict(message.additional_kwargs)
    fields.pop(CALL_SIGNATURES, None)
    content = message.text if isinstance(message.content, list) else message.content
    return message.model_copy(update={"content": content, "additional_kwargs": fields})


class SealedReader:
    """Reader that joins the sealed reasoning in the chunks of one reply."""

    def __init__(self) -> None:
        self._lists: dict[str, list[Json]] = {name: [] for name in LISTS}
        self._extra: Json = {}
        self._calls: dict[int, Json] = {}

    def feed(self, delta: Mapping[str, Any], *, is_whole: bool = False) -> None:
        """Add a chunk of a message, or a whole message, whose entries are whole too."""
        for name, entries in self._lists.items():
            chunks = delta.get(name)
            for chunk in chunks if isinstance(chunks, list) else ():
                if isinstance(chunk, dict):
                    _add_entry(entries, chunk, is_whole=is_whole)
        self._extra = _merge(self._extra, delta.get(EXTRA))

    def feed_call(self, number: int, chunk: Mapping[str, Any]) -> None:
        """Add a chunk of the call with this number, or the whole call."""
        fields = {name: chunk.get(name) for name in CALL_FIELDS}
        self._calls[number] = _merge(self._calls.get(number, {}), fields)

    def fields(self, call_count: int = 0) -> Json:
        """Return the fields for the `additional_kwargs` of a reply with `call_count` calls."""
        sealed_calls = [self._calls.get(number) or None for number in range(call_count)]
        fields: Json = {**self._lists, EXTRA: self._extra}
        if any(sealed_calls):
            fields[CALLS] = sealed_calls
        return {name: value for name, value in fields.items() if value}


def _add_entry(entries: list[Json], chunk: Json, *, is_whole: bool) -> None:
    """Append a chunk to the newest entry of its index and kind, unless that is already sealed.

    The index alone is not enough: OpenRouter's streams have 0 for all entries.
    """
    same_index = (entry for entry in reversed(entries) if entry.get("index") == chunk.get("index"))
    entry = next(same_index, None)
    is_open = entry is not None and not (entry.get("signature") or entry.get("data"))
    if is_whole or entry is None or not is_open or entry.get("type") != chunk.get("type"):
        entries.append(dict(chunk))
        return
    for name, value in chunk.items():
        if name in _TEXTS and isinstance(value, str):
            entry[name] = (entry.get(name) or "") + value
        elif value not in (None, ""):
            entry[name] = value


def _merge(existing: Json, new: Any) -> Json:
    """Return both merged; null removes nothing, and Google's `thought` flag is omitted."""
    merged = dict(existing)
    if not isinstance(new, dict):
        return merged
    for name, value in new.items():
        if isinstance(value, dict):
            value = _merge(merged.get(name) or {}, value)
        if value and name != "thought":
            merged[name] = value
    return merged
