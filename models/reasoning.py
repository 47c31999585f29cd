"""What a model thinks before it answers: told from the answer, kept, and sent back.

Some of it can be read: `reasoning_content` beside the text, or `<think>…</think>` at its beginning.
Some is signed or encrypted, and the server that gave it wants it back unread: `reasoning_details`
(OpenRouter, MiniMax), `thinking_blocks` (LiteLLM), `extra_content` (Google's endpoint for this
protocol), or blocks of the content (Anthropic, Bedrock). It means something to that server alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from manus.models.providers import DEFAULT_MODEL, address_of, split_spec
from manus.state.model_settings import ModelSettings

REASONING = "reasoning_content"
"""In a message's `additional_kwargs`: what the model thought before it answered."""
THOUGHT_AS = "thought_as"
"""Beside it, where the server has another name for it: that name."""
IN_TEXT = "<think>"
"""That name where the thought stood in the text itself."""
THOUGHT_BY = "thought_by"
"""Beside thoughts: `origin_of` the endpoint that gave them."""
GOOGLES = "__gemini_function_call_thought_signatures__"
"""As Google's package has it: signatures by the ids of calls."""
LISTS = ("reasoning_details", "thinking_blocks")
EXTRA = "extra_content"
CALLS = "sealed_calls"
"""As `LISTS` and `EXTRA`: what stood beside the calls, one entry a call in call order."""
SEALED = (*LISTS, EXTRA, CALLS)
BESIDE = (REASONING, THOUGHT_AS, THOUGHT_BY, GOOGLES, *SEALED)
"""All that may stand in `additional_kwargs` of what was thought."""

_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
_SIGNATURES = frozenset({"signature", "thought_signature"})
_OPEN = re.compile(r"\s*<(think|thinking|thought)>", re.IGNORECASE)
_OPENS = ("<think>", "<thinking>", "<thought>")
# Templates that end in the opening tag leave only the closing one, on a line of its own.
_ONLY_CLOSED = re.compile(r"\A(.*?)\n[ \t]*</think>[ \t]*(?:\n|\Z)", re.DOTALL)


class ThoughtReader:
    """Takes the text of a reply piece by piece; gives what is thought and what is said of it.

    Tags count only at its beginning, so that an answer may speak of them.
    """

    def __init__(self) -> None:
        self._held = ""
        self._close: str | None = None
        self._begins = True
        self._decided = False

    def feed(self, piece: str) -> tuple[str, str]:
        """What is thought and what is said, as far as this piece decides it."""
        self._held += piece
        if not self._decided and not self._decide():
            return "", ""
        if self._close is None:
            return "", self._said()
        found = self._held.lower().find(self._close)
        if found >= 0:
            thought, self._held = self._held[:found], self._held[found + len(self._close) :]
            self._close = None
            return thought, self._said()
        return self._thought(self._close), ""

    def end(self) -> tuple[str, str]:
        """What was held back."""
        rest, self._held = self._held, ""
        return (rest, "") if self._close is not None else ("", rest)

    def _decide(self) -> bool:
        """Whether it is known by now if the text begins with a thought."""
        if opened := _OPEN.match(self._held):
            self._close = f"</{opened[1].lower()}>"
            self._held = self._held[opened.end() :]
        elif any(tag.startswith(self._held.strip().lower()) for tag in _OPENS):
            return False
        else:
            self._begins = False
        self._decided = True
        return True

    def _said(self) -> str:
        """What is held is said; the empty lines behind a thought are not."""
        if self._begins:
            self._held = self._held.lstrip()
            self._begins = not self._held
        said, self._held = self._held, ""
        return said

    def _thought(self, close: str) -> str:
        """What of the text cannot be the beginning of the closing tag."""
        sizes = range(min(len(close), len(self._held)), 0, -1)
        held = next((n for n in sizes if close.startswith(self._held[-n:].lower())), 0)
        cut = len(self._held) - held
        thought, self._held = self._held[:cut], self._held[cut:]
        return thought


def thought_apart(text: str) -> tuple[str, str]:
    """What is thought and what is said in a whole text."""
    if (found := _ONLY_CLOSED.match(text)) and not re.search(r"<think", found[1], re.IGNORECASE):
        return found[1].strip(), text[found.end() :].lstrip()
    reader = ThoughtReader()
    parts = [reader.feed(text), reader.end()]
    return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]


def without_thought(message: AIMessage) -> AIMessage:
    """The reply without what is thought in its text, which is kept beside it."""
    if not isinstance(message.content, str) or "</th" not in message.content:
        return message
    thought, said = thought_apart(message.content)
    if thought.strip():
        message.content = said
        message.additional_kwargs.setdefault(REASONING, thought.strip())
    return message


def origin_of(endpoint: ModelSettings) -> str:
    """A short name for an endpoint's address and model; no address can be read from it."""
    provider, name = split_spec(endpoint.model or DEFAULT_MODEL)
    named = "\n".join((address_of(endpoint).rstrip("/"), provider, name))
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def with_origin(message: AIMessage, endpoint: ModelSettings) -> AIMessage:
    """The reply of an endpoint, with its name beside what was thought.

    What is signed is kept only to be sent: not where it never is. A recorded reply keeps the name
    of the endpoint that gave it then.
    """
    if endpoint.send_reasoning is False:
        drop_sealed(message)
    kept = message.additional_kwargs
    if any(name in kept for name in (REASONING, GOOGLES, *SEALED)) or thought_blocks(message):
        kept.setdefault(THOUGHT_BY, origin_of(endpoint))
    return message


def is_foreign(message: AIMessage, origin: str) -> bool:
    """Whether another endpoint is known to have thought what is with a message."""
    return bool(message.additional_kwargs.get(THOUGHT_BY, origin) != origin)


def thought_blocks(message: AIMessage) -> list[Any]:
    """The thoughts among the blocks of a message."""
    content = message.content
    return [b for b in content if is_thought(b)] if isinstance(content, list) else []


def is_thought(block: Any) -> bool:
    """Whether a block of a message is a thought, or signed."""
    return isinstance(block, dict) and (block.get("type") in _BLOCKS or is_signed(block))


def is_signed(block: Any) -> bool:
    """Whether a block of a message bears a signature."""
    if not isinstance(block, dict):
        return False
    extras = block.get("extras")
    return not _SIGNATURES.isdisjoint([*block, *(extras if isinstance(extras, dict) else ())])


def drop_sealed(message: AIMessage) -> None:
    """Take away what is signed or encrypted, where it is never to be sent."""
    for name in SEALED:
        message.additional_kwargs.pop(name, None)


def put_back(form: dict[str, Any], message: AIMessage) -> None:
    """Add what is signed or encrypted to the wire form of the message, each where it stood."""
    kept = message.additional_kwargs
    form.update({name: kept[name] for name in (*LISTS, EXTRA) if name in kept})
    calls, beside = form.get("tool_calls") or [], kept.get(CALLS) or []
    if len(calls) == len(beside):  # else the calls are no longer those that were made
        for call, extra in zip(calls, beside, strict=True):
            call.update(extra or {})


def follow(message: AIMessage, new_ids: Sequence[tuple[str, str]]) -> None:
    """Keep what belongs to calls by their ids with them, where these have got others (old, new)."""
    signatures = message.additional_kwargs.get(GOOGLES, {})
    blocks = message.content if isinstance(message.content, list) else ()
    entries = [e for name in LISTS for e in message.additional_kwargs.get(name, ())]
    for old, new in new_ids:
        if old in signatures:
            signatures[new] = signatures.pop(old)
        for one in (*blocks, *entries):
            if isinstance(one, dict) and one.get("id") == old:
                one["id"] = new


def own_thoughts(
    request: Sequence[BaseMessage], origin: str, *, send: bool = True
) -> list[BaseMessage]:
    """The request without what other endpoints thought, or without all if nothing is sent back.

    Its messages stay as they are.
    """
    return [
        _without_thoughts(message)
        if isinstance(message, AIMessage) and (not send or is_foreign(message, origin))
        else message
        for message in request
    ]


def _without_thoughts(message: AIMessage) -> AIMessage:
    """A copy with what it says; calls among its thoughts stand in the message's own calls too."""
    content = message.content
    if isinstance(content, list):
        gone = {*_BLOCKS, "tool_use"}
        kept = [b for b in content if not (isinstance(b, dict) and b.get("type") in gone)]
        content = [_unsigned(block) for block in kept] or ""
    beside = {k: v for k, v in message.additional_kwargs.items() if k != GOOGLES}
    return message.model_copy(update={"content": content, "additional_kwargs": beside})


def _unsigned(block: Any) -> Any:
    if not isinstance(block, dict) or not is_signed(block):
        return block
    return {k: v for k, v in block.items() if k not in _SIGNATURES and k != "extras"}


class SealedReader:
    """Puts together what is signed or encrypted in the pieces of one reply."""

    def __init__(self) -> None:
        self._lists: dict[str, list[dict[str, Any]]] = {name: [] for name in LISTS}
        self._extra: dict[str, Any] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def feed(self, delta: Mapping[str, Any], *, whole: bool = False) -> None:
        """A piece of a message, or a whole one, whose entries are whole too."""
        for name, known in self._lists.items():
            given = delta.get(name)
            for piece in given if isinstance(given, list) else ():
                if not isinstance(piece, dict):
                    continue
                same = (one for one in reversed(known) if one.get("index") == piece.get("index"))
                entry = next(same, None)
                if whole or entry is None or not _goes_on(entry, piece):
                    known.append(dict(piece))
                else:
                    _add(entry, piece)
        self._extra = _merged(self._extra, delta.get(EXTRA))

    def feed_call(self, place: int, piece: Mapping[str, Any]) -> None:
        """A piece of the call at a place among all, or a whole one."""
        for name in (EXTRA, "provider_specific_fields"):
            if isinstance(piece.get(name), dict) and piece[name]:
                self._calls[place] = _merged(self._calls.get(place, {}), {name: piece[name]})

    def kept(self, calls: int) -> dict[str, Any]:
        """What goes into `additional_kwargs` of a reply with so many calls."""
        beside = [self._calls.get(place) for place in range(calls)]
        found = {**self._lists, EXTRA: self._extra, CALLS: beside if any(beside) else []}
        return {name: value for name, value in found.items() if value}


def _goes_on(entry: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Whether a piece is more of an entry: of its kind, and the entry has no seal yet.

    The index alone does not tell: OpenRouter's streams have 0 for all entries.
    """
    same = all(
        entry.get(name) in (None, "") or piece.get(name) in (None, "", entry.get(name))
        for name in ("type", "id", "signature", "data")
    )
    is_closed = any(entry.get(name) for name in ("signature", "data"))
    grows = any(piece.get(name) for name in ("text", "summary", "thinking"))
    return same and not (is_closed and grows)


def _add(entry: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for name, value in piece.items():
        if name in ("text", "summary", "thinking") and isinstance(value, str):
            entry[name] = (entry.get(name) or "") + value
        elif value not in (None, ""):
            entry[name] = value
        else:
            entry.setdefault(name, value)


def _merged(known: dict[str, Any], new: Any) -> dict[str, Any]:
    """Both together; null takes nothing away, and Google's flag of a thought is left out."""
    merged = dict(known)
    for name, value in new.items() if isinstance(new, dict) else ():
        if isinstance(value, dict):
            before = merged.get(name)
            merged[name] = _merged(before if isinstance(before, dict) else {}, value)
        elif name != "thought" and value is not None:
            merged[name] = value
    return {name: value for name, value in merged.items() if value != {}}
