"""What a server gives with a reply to have it back unread: thoughts signed or encrypted.

OpenRouter and MiniMax: `reasoning_details`. LiteLLM: `thinking_blocks`. Google's endpoint for this
protocol: `extra_content` beside a call or a text. The models behind them refuse a history without
it, or lose their thread; LangChain's client drops it. In a stream it comes in pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage

LISTS = ("reasoning_details", "thinking_blocks")
EXTRA = "extra_content"
CALLS = "sealed_calls"
"""In a message's `additional_kwargs`, as `LISTS` and `EXTRA`: what stood beside its calls, one
entry a call in call order, None where there was nothing."""
SEALED = (*LISTS, EXTRA, CALLS)
_OF_CALLS = (EXTRA, "provider_specific_fields")
_GROWING = ("text", "summary", "thinking")
_SEALS = ("signature", "data")
_TELLING = ("type", "id", *_SEALS)
_OPEN = (None, "")

NO_SIGNATURE = "skip_thought_signature_validator"
"""What Google takes for the signature of a call that another model has made:
ai.google.dev/gemini-api/docs/thought-signatures."""

Json = dict[str, Any]


@dataclass(slots=True)
class _Entry:
    fields: Json
    pieces: dict[str, list[str]] = field(default_factory=dict)
    """Of what comes in many: joined at the end, since each joining costs as much as is there."""

    def whole(self) -> Json:
        said = {name: "".join(pieces) for name, pieces in self.pieces.items()}
        return {**self.fields, **said}

    def add(self, piece: Json) -> None:
        for name, value in piece.items():
            before = self.fields.get(name)
            if name in _GROWING and isinstance(value, str) and isinstance(before, str | None):
                self.pieces.setdefault(name, [before or ""]).append(value)
                self.fields[name] = ""
            elif before in _OPEN and value not in _OPEN:
                self.fields[name] = value
            else:
                self.fields.setdefault(name, value)

    def goes_on_with(self, piece: Json) -> bool:
        """Whether a piece is more of it: of its kind and name, and the entry is still open."""
        if not all(_agree(self.fields.get(name), piece.get(name)) for name in _TELLING):
            return False
        is_closed = any(self.fields.get(name) not in _OPEN for name in _SEALS)
        return not (is_closed and any(piece.get(name) not in _OPEN for name in _GROWING))


class Sealed:
    """Puts together what comes in the pieces of one reply."""

    def __init__(self) -> None:
        self._lists: dict[str, list[_Entry]] = {name: [] for name in LISTS}
        self._extra: Json = {}
        self._calls: dict[int, Json] = {}

    def feed(self, delta: Mapping[str, Any], *, whole: bool = False) -> None:
        """A piece of a message, or a whole one, whose entries are whole too."""
        for name, known in self._lists.items():
            for piece in _dicts(delta.get(name)):
                if whole:
                    known.append(_Entry(piece))
                else:
                    _add(known, piece)
        self._extra = _merged(self._extra, _unflagged(delta.get(EXTRA)))

    def feed_call(self, place: int, piece: Mapping[str, Any]) -> None:
        """A piece of the call at a place among all, or a whole one."""
        for name in _OF_CALLS:
            if found := _merged({}, piece.get(name)):
                self._calls[place] = _merged(self._calls.get(place, {}), {name: found})

    def kept(self, calls: int) -> Json:
        """What goes into `additional_kwargs` of a reply with so many calls."""
        beside = [self._calls.get(place) for place in range(calls)]
        lists = {name: [one.whole() for one in entries] for name, entries in self._lists.items()}
        found = {**lists, EXTRA: self._extra, CALLS: beside if any(beside) else []}
        return {name: value for name, value in found.items() if value}


def sealed_of(message: Mapping[str, Any]) -> Json:
    """What goes into `additional_kwargs` of a whole reply: all as it came."""
    whole = Sealed()
    whole.feed(message, whole=True)
    calls = _dicts(message.get("tool_calls"))
    for place, call in enumerate(calls):
        whole.feed_call(place, call)
    return whole.kept(len(calls))


def _unflagged(extra: Any) -> Any:
    """Without Google's flag of a piece that is a thought: a reply has its thoughts apart."""
    if not isinstance(extra, dict):
        return extra
    return {
        name: {k: v for k, v in part.items() if k != "thought"} if isinstance(part, dict) else part
        for name, part in extra.items()
    }


def _dicts(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _merged(known: Json, new: Any) -> Json:
    """Both together; what is sent again is not said twice, and null takes nothing away."""
    if not isinstance(new, dict):
        return known
    merged = dict(known)
    for name, value in new.items():
        if isinstance(value, dict):
            before = merged.get(name)
            merged[name] = _merged(before if isinstance(before, dict) else {}, value)
        elif value is not None or name not in merged:
            merged[name] = value
    return {name: value for name, value in merged.items() if value != {}}


def _add(known: list[_Entry], piece: Json) -> None:
    """Add a piece to the entry that it belongs to, or begin one with it.

    The index alone does not tell: OpenRouter's streams have 0 for all entries
    (github.com/OpenRouterTeam/ai-sdk-provider/issues/519).
    """
    same = (one for one in reversed(known) if one.fields.get("index") == piece.get("index"))
    entry = next(same, None)
    if entry is None or not entry.goes_on_with(piece):
        known.append(_Entry(dict(piece)))
    else:
        entry.add(piece)


def _agree(one: Any, other: Any) -> bool:
    return one in _OPEN or other in _OPEN or one == other


def is_sealed(message: AIMessage) -> bool:
    """Whether there is something with a reply that its server wants back."""
    return any(name in message.additional_kwargs for name in SEALED)


def drop_sealed(message: AIMessage) -> None:
    """Take it away, where it is never to be sent."""
    for name in SEALED:
        message.additional_kwargs.pop(name, None)


def put_back(form: Json, message: AIMessage) -> None:
    """Add it to the wire form of the message, each where it stood."""
    kept = message.additional_kwargs
    form.update({name: kept[name] for name in (*LISTS, EXTRA) if name in kept})
    calls, beside = form.get("tool_calls") or [], kept.get(CALLS) or []
    if len(calls) == len(beside):  # else the calls are no longer those that were made
        for call, extra in zip(calls, beside, strict=True):
            call.update(extra or {})


def excuse(form: Json) -> None:
    """Say of calls in a wire form that none of them has a signature, where that is so.

    Of calls that are made side by side only the first has one.
    """
    calls = form.get("tool_calls")
    if calls and not any(EXTRA in call for call in calls):
        calls[0][EXTRA] = {"google": {"thought_signature": NO_SIGNATURE}}


def renamed(message: AIMessage, ids: Sequence[tuple[str, str]]) -> None:
    """Follow calls that have got other ids (old, new): an entry may belong to a call by its id."""
    for old, new in ids:
        for name in LISTS:
            found = (one for one in message.additional_kwargs.get(name, ()) if one.get("id") == old)
            if (entry := next(found, None)) is not None:
                entry["id"] = new


def sealed_text(message: AIMessage) -> tuple[str, int]:
    """What of it can be read, and how many characters cannot."""
    kept = message.additional_kwargs
    texts: list[str] = []
    opaque = 0
    for entry in (one for name in LISTS for one in _dicts(kept.get(name))):
        texts += [str(entry[name]) for name in _GROWING if entry.get(name)]
        opaque += sum(len(str(entry[name])) for name in _SEALS if entry.get(name))
    return "\n".join(texts), opaque + length_of(kept.get(EXTRA)) + length_of(kept.get(CALLS))


def length_of(value: Any) -> int:
    """Characters of all texts in a JSON-like value."""
    if isinstance(value, Mapping | list):
        return sum(map(length_of, value.values() if isinstance(value, Mapping) else value))
    return len(value) if isinstance(value, str) else 0
