"""What a model thinks before it answers: told from the answer, kept beside it, and sent back.

Words can be read: `reasoning_content`, or `<think>…</think>` at the beginning of the text. What is
signed or encrypted goes back unread to the server that gave it: `reasoning_details` (OpenRouter),
`thinking_blocks` (LiteLLM), `extra_content` (Google's endpoint for this protocol), or blocks of the
content (Anthropic, Bedrock, Google's own protocol).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from manus.config.model_settings import ModelSettings
from manus.models.providers import DEFAULT_MODEL, address_of

REASONING = "reasoning_content"
"""In a message's `additional_kwargs`: what the model thought before it answered."""
THOUGHT_BY = "thought_by"
"""Beside thoughts: `origin_of` the endpoint that gave them."""
LISTS = ("reasoning_details", "thinking_blocks")
EXTRA = "extra_content"
CALLS = "sealed_calls"
"""As those: what stood beside the calls, one entry a call in call order."""
_SEALED = (*LISTS, EXTRA, CALLS)
_GOOGLES = "__gemini_function_call_thought_signatures__"
"""As Google's package has it: signatures by the ids of calls."""
_KINDS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
_SIGNATURES = {"signature", "thought_signature"}
_TEXTS = ("text", "summary", "thinking")
_OPEN = re.compile(r"\s*<(think|thinking|thought)>", re.IGNORECASE)
_OPENS = ("<think>", "<thinking>", "<thought>")
# Templates that end in the opening tag leave only the closing one, on a line of its own.
_ONLY_CLOSED = re.compile(r"\A(.*?)\n[ \t]*</think>[ \t]*(?:\n|\Z)", re.DOTALL)

Json = dict[str, Any]


class ThoughtReader:
    """Takes the text of a reply piece by piece; gives what is thought and what is said of it.

    Tags count only at its beginning, so that an answer may speak of them.
    """

    def __init__(self) -> None:
        self._held = ""
        self._close: str | None = None
        """The tag that ends the thought: None before one begins, empty behind it."""
        self._is_answer = False

    def feed(self, piece: str, *, is_last: bool = False) -> tuple[str, str]:
        """What is thought and what is said, as far as this piece decides it."""
        if self._is_answer:
            return "", piece
        text = self._held + piece
        self._held = ""
        thought = ""
        if self._close is None:
            if (opened := _OPEN.match(text)) is None:
                may_open = any(tag.startswith(text.strip().lower()) for tag in _OPENS)
                self._is_answer = is_last or not may_open
                self._held = "" if self._is_answer else text
                return "", text if self._is_answer else ""
            self._close, text = f"</{opened[1].lower()}>", text[opened.end() :]
        if self._close:
            end = text.lower().find(self._close)
            if end < 0:  # the tag may have begun
                begun = text.find("<", max(0, len(text) + 1 - len(self._close)))
                end = len(text) if is_last or begun < 0 else begun
                self._held = text[end:]
                return text[:end], ""
            thought = text[:end]
            text = text[end + len(self._close) :]
            self._close = ""
        said = text.lstrip()
        self._is_answer = bool(said)
        return thought, said


def thought_apart(text: str) -> tuple[str, str]:
    """What is thought and what is said in a whole text."""
    if (found := _ONLY_CLOSED.match(text)) and "<think" not in found[1].lower():
        return found[1].strip(), text[found.end() :].lstrip()
    return ThoughtReader().feed(text, is_last=True)


def without_thought(message: AIMessage) -> AIMessage:
    """The reply without what is thought in its text, which is kept beside it."""
    if isinstance(message.content, str) and "</th" in message.content:
        thought, said = thought_apart(message.content)
        if thought.strip():
            message.content = said
            message.additional_kwargs.setdefault(REASONING, thought.strip())
    return message


@lru_cache(64)
def origin_of(endpoint: ModelSettings) -> str:
    """A short name for an endpoint's address and model; no address can be read from it."""
    named = f"{address_of(endpoint).rstrip('/')}\n{endpoint.model or DEFAULT_MODEL}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def with_origin(message: AIMessage, endpoint: ModelSettings) -> AIMessage:
    """The reply of an endpoint, with its name beside what was thought."""
    if endpoint.send_reasoning is False:
        drop_sealed(message)
    kept = message.additional_kwargs
    if not kept.keys().isdisjoint((REASONING, _GOOGLES, *_SEALED)) or has_thoughts(message):
        kept.setdefault(THOUGHT_BY, origin_of(endpoint))
    return message


def is_foreign(message: AIMessage, origin: str) -> bool:
    """Whether another endpoint is known to have thought what is with a message."""
    return bool(message.additional_kwargs.get(THOUGHT_BY, origin) != origin)


def has_thoughts(message: AIMessage) -> bool:
    """Whether a thought, or a signature, is among the blocks of a message."""
    content = message.content if isinstance(message.content, list) else ()
    return any(
        isinstance(block, dict)
        and (block.get("type") in _KINDS or _SIGNATURES & {*block, *(block.get("extras") or ())})
        for block in content
    )


def drop_sealed(message: AIMessage) -> None:
    """Take away what is signed or encrypted, where it is never to be sent."""
    for name in _SEALED:
        message.additional_kwargs.pop(name, None)


def put_back(form: Json, message: AIMessage) -> None:
    """Add what is signed or encrypted to the wire form of the message, each where it stood."""
    kept = message.additional_kwargs
    form.update({name: kept[name] for name in (*LISTS, EXTRA) if name in kept})
    calls = form.get("tool_calls") or []
    beside = kept.get(CALLS) or []
    if len(calls) == len(beside):  # else the calls are no longer those that were made
        for call, extra in zip(calls, beside, strict=True):
            call.update(extra or {})


def follow(message: AIMessage, old: str, new: str) -> None:
    """Keep what belongs to a call by its id with it: Gemini's signatures are found so."""
    signatures = message.additional_kwargs.get(_GOOGLES, {})
    if old in signatures:
        signatures[new] = signatures.pop(old)
    for entry in (e for name in LISTS for e in message.additional_kwargs.get(name, ())):
        if entry.get("id") == old:
            entry["id"] = new


def own_thoughts(request: Sequence[BaseMessage], origin: str) -> list[BaseMessage]:
    """The request without what other endpoints thought.

    Its messages stay as they are. Calls among the blocks stand in the message's own calls too.
    """
    return [
        _without_thoughts(m) if isinstance(m, AIMessage) and is_foreign(m, origin) else m
        for m in request
    ]


def _without_thoughts(message: AIMessage) -> AIMessage:
    beside = {k: v for k, v in message.additional_kwargs.items() if k != _GOOGLES}
    content = message.text if isinstance(message.content, list) else message.content
    return message.model_copy(update={"content": content, "additional_kwargs": beside})


class SealedReader:
    """Puts together what is signed or encrypted in the pieces of one reply."""

    def __init__(self) -> None:
        self._lists: dict[str, list[Json]] = {name: [] for name in LISTS}
        self._extra: Json = {}
        self._calls: dict[int, Json] = {}

    def feed(self, delta: Mapping[str, Any], *, whole: bool = False) -> None:
        """A piece of a message, or a whole one, whose entries are whole too."""
        for name, known in self._lists.items():
            pieces = delta.get(name)
            for piece in pieces if isinstance(pieces, list) else ():
                if isinstance(piece, dict):
                    _add(known, piece, whole=whole)
        self._extra = _merged(self._extra, delta.get(EXTRA))

    def feed_call(self, place: int, piece: Mapping[str, Any]) -> None:
        """A piece of the call at a place among all, or a whole one."""
        beside = {name: piece.get(name) for name in (EXTRA, "provider_specific_fields")}
        self._calls[place] = _merged(self._calls.get(place, {}), beside)

    def kept(self) -> Json:
        """What goes into the reply's `additional_kwargs`."""
        beside = [self._calls[place] or None for place in sorted(self._calls)]
        found = {**self._lists, EXTRA: self._extra, CALLS: beside if any(beside) else []}
        return {name: value for name, value in found.items() if value}


def _add(known: list[Json], piece: Json, *, whole: bool) -> None:
    """Take a piece as more of the newest entry of its index and kind, until that has its seal.

    The index alone does not tell: OpenRouter's streams have 0 for all entries.
    """
    same = (one for one in reversed(known) if one.get("index") == piece.get("index"))
    entry = next(same, None)
    is_open = entry is not None and not (entry.get("signature") or entry.get("data"))
    if whole or entry is None or not is_open or entry.get("type") != piece.get("type"):
        known.append(dict(piece))
        return
    for name, value in piece.items():
        if name in _TEXTS and isinstance(value, str):
            entry[name] = (entry.get(name) or "") + value
        elif value not in (None, ""):
            entry[name] = value


def _merged(known: Json, new: Any) -> Json:
    """Both together; null takes nothing away, and Google's flag of a thought is left out."""
    merged = dict(known)
    for name, value in new.items() if isinstance(new, dict) else ():
        value = _merged(merged.get(name) or {}, value) if isinstance(value, dict) else value
        if value and name != "thought":
            merged[name] = value
    return merged
