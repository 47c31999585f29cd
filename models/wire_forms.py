"""Messages as the chat completions protocol has them, each brought into that form once."""

from __future__ import annotations

import json
import weakref
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ToolMessage,
    convert_to_openai_messages,
)

from manus.models.reasoning import EXTRA, IN_TEXT, REASONING, THOUGHT_AS, is_foreign, put_back
from manus.state.messages import calls_of

SEND_REASONING = "send_reasoning"
"""An argument of a model's call: how what the model thought goes back (`Back`)."""
IMAGE_FOLLOWS = "[The image follows in the next message.]"
NO_SIGNATURE = "skip_thought_signature_validator"
"""What Google takes for the signature of a call that another model has made:
ai.google.dev/gemini-api/docs/thought-signatures."""


class Back(NamedTuple):
    """How thoughts go back to a compatible server: an argument of the model's call."""

    origin: str = ""
    text: bool = False
    """What can be read, of every message of the assistant."""
    as_given: bool = False
    """Under the name that the server has for it, not as `reasoning_content`."""
    sealed: bool = True
    """What is signed or encrypted, to the endpoint that gave it."""
    excused: bool = False
    """Calls that have no signature say so."""


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8; half surrogate pairs, which UTF-8 has no bytes for, escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


class WireForm:
    """A message as the chat completions protocol has it, and its JSON."""

    __slots__ = ("encoded", "form")

    def __init__(self, form: dict[str, Any]) -> None:
        self.form = form
        self.encoded = encode(form)


class WireForms:
    """The wire form of each message, kept as long as the message lives."""

    def __init__(self, back: Back | None = None) -> None:
        self._back = back or Back()
        self._forms: dict[int, tuple[weakref.ref[BaseMessage], WireForm]] = {}

    def of(self, message: BaseMessage) -> WireForm:
        """The wire form of a message; the same object each time."""
        key = id(message)
        known = self._forms.get(key)
        if known is not None and known[0]() is message:
            return known[1]
        plain = wire_form(message)
        if isinstance(message, AIMessage):
            _add_thoughts(plain, message, self._back)
        form = WireForm(plain)
        self._forms[key] = (weakref.ref(message, lambda _: self._forms.pop(key, None)), form)
        return form


def _add_thoughts(form: dict[str, Any], message: AIMessage, back: Back) -> None:
    """What was thought with a message, as far as its server is to have it back."""
    foreign = is_foreign(message, back.origin)
    if back.text:
        # those who want it want it of every message, also where there was none
        kept = {} if foreign else message.additional_kwargs
        name = kept.get(THOUGHT_AS) if back.as_given else None
        _add_words(form, name or REASONING, kept.get(REASONING) or "")
    if back.sealed and not foreign:
        put_back(form, message)
    if back.excused:
        _excuse(form)


def _add_words(form: dict[str, Any], name: str, words: str) -> None:
    if name == IN_TEXT:
        form["content"] = f"<think>\n{words.strip()}\n</think>\n\n{form.get('content') or ''}"
    else:
        form[name] = words


def _excuse(form: dict[str, Any]) -> None:
    """Say of calls that none of them has a signature; of those side by side the first has one."""
    calls = form.get("tool_calls")
    if calls and not any(EXTRA in call for call in calls):
        calls[0][EXTRA] = {"google": {"thought_signature": NO_SIGNATURE}}


def wire_form(message: BaseMessage) -> dict[str, Any]:
    """A message as the chat completions protocol has it.

    Arguments that are not JSON are wrapped: several servers parse them again when they fill in
    their prompt template, and refuse the whole history for one malformed call.
    """
    if isinstance(message, AIMessage):
        return _assistant(message)
    if isinstance(message, ToolMessage):
        image = isinstance(message.content, list)
        text = f"{message.text}\n{IMAGE_FOLLOWS}" if image else message.content
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    if isinstance(message.content, str) and message.type in ("human", "system"):
        role = {"human": "user", "system": "system"}[message.type]
        named = {"name": message.name} if message.name else {}
        return {"role": role, "content": message.content, **named}
    form = convert_to_openai_messages(message)
    assert isinstance(form, dict)
    return form


def _assistant(message: AIMessage) -> dict[str, Any]:
    calls = [
        {
            "type": "function",
            "id": call["id"],
            "function": {"name": call["name"], "arguments": _arguments(call["args"])},
        }
        for call in calls_of(message)
    ]
    content: Any = message.content
    if isinstance(content, list):
        content = _texts(content)
    form = {"role": "assistant", "content": content or (None if calls else "")}
    return {**form, "tool_calls": calls} if calls else form


def _arguments(args: Any) -> str:
    if not isinstance(args, dict):
        args = {"malformed_arguments": args or ""}
    return json.dumps(args, ensure_ascii=False)


def _texts(blocks: list[Any]) -> list[dict[str, str]]:
    """The text of blocks that another provider's model may have written, its thoughts left out."""
    found = ({"type": "text", "text": b} if isinstance(b, str) else b for b in blocks)
    texts = [{"type": "text", "text": str(b["text"])} for b in found if b.get("type") == "text"]
    return [text for text in texts if text["text"]]


def image_message(batch: list[ToolMessage]) -> dict[str, Any] | None:
    """The images of a batch of tool messages as a user message, which is where they may stand."""
    images = [
        block
        for message in batch
        if isinstance(message.content, list)
        for block in message.content
        if isinstance(block, dict) and block.get("type") == "image_url"
    ]
    return {"role": "user", "content": images} if images else None


def wire_messages(messages: list[BaseMessage], forms: WireForms) -> list[WireForm]:
    """A request's messages on the wire; images of tool messages follow their batch."""
    wire: list[WireForm] = []
    batch: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            batch.append(message)
        elif batch:
            _add_images(wire, batch)
        wire.append(forms.of(message))
    _add_images(wire, batch)
    return wire


def _add_images(wire: list[WireForm], batch: list[ToolMessage]) -> None:
    images = image_message(batch)
    if images is not None:
        wire.append(WireForm(images))
    batch.clear()
