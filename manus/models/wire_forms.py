"""Messages as the chat completions protocol has them, each brought into that form once."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_openai_messages

from manus.config.model_settings import ModelSettings
from manus.models.reasoning import REASONING, is_foreign, origin_of, put_back
from manus.state.messages import PerMessage, calls_of, text_of

SEND_REASONING = "send_reasoning"
"""An argument of a model's call: how what the model thought goes back (`Back`)."""
IMAGE_FOLLOWS = "[The image follows in the next message.]"
_WANT_REASONING = ("api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn")
"""Servers to which `reasoning_content` has to come back:
api-docs.deepseek.com/guides/thinking_mode."""


class Back(NamedTuple):
    """How thoughts go back to a compatible server: an argument of the model's call."""

    origin: str = ""
    """What this endpoint gave goes back to it; if empty, nothing does."""
    text: bool = False
    """Whether what can be read is sent, with every message of the assistant."""


def back_to(endpoint: ModelSettings) -> Back:
    """How what the model thought goes back to a compatible server."""
    chosen = endpoint.send_reasoning
    is_known = any(host in (endpoint.base_url or "") for host in _WANT_REASONING)
    text = is_known if chosen is None else chosen
    return Back("" if chosen is False else origin_of(endpoint), text)


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8; half surrogate pairs, which UTF-8 has no bytes for, escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


@lru_cache(64)
def wire_forms(back: Back) -> PerMessage[bytes]:
    """The wire form of each message in JSON, kept as long as the message lives."""
    return PerMessage(lambda message: encode(wire_form(message, back)))


def wire_form(message: BaseMessage, back: Back) -> dict[str, Any]:
    """A message as the chat completions protocol has it.

    Arguments that are not JSON are wrapped: several servers parse them again when they fill in
    their prompt template, and refuse the whole history for one malformed call.
    """
    if isinstance(message, AIMessage):
        return _assistant(message, back)
    if isinstance(message, ToolMessage):
        image = isinstance(message.content, list)
        text = f"{message.text}\n{IMAGE_FOLLOWS}" if image else message.content
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    form: Any = convert_to_openai_messages(message)
    return dict(form)


def _assistant(message: AIMessage, back: Back) -> dict[str, Any]:
    calls = []
    for call in calls_of(message):
        args: Any = call["args"]
        args = args if isinstance(args, dict) else {"malformed_arguments": args or ""}
        function = {"name": call["name"], "arguments": json.dumps(args, ensure_ascii=False)}
        calls.append({"type": "function", "id": call["id"], "function": function})
    # of the blocks that another provider's model may have written the text alone
    text = text_of(message)
    form: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
    if calls:
        form["tool_calls"] = calls
    foreign = is_foreign(message, back.origin)
    if back.text:
        # those who want it want it of every message, also where there was none
        form[REASONING] = "" if foreign else message.additional_kwargs.get(REASONING, "")
    if not foreign:
        put_back(form, message)
    return form


def wire_messages(messages: list[BaseMessage], back: Back) -> list[bytes]:
    """A request's messages on the wire.

    Images of tool messages may stand only in one of the user's, which follows their batch.
    """
    wire = list[bytes]()
    forms = wire_forms(back)
    images: list[Any] = []
    for message in [*messages, None]:
        if images and not isinstance(message, ToolMessage):
            wire.append(encode({"role": "user", "content": images}))
            images = []
        if isinstance(message, ToolMessage) and isinstance(message.content, list):
            blocks = (block for block in message.content if isinstance(block, dict))
            images += [block for block in blocks if block.get("type") == "image_url"]
        if message is not None:
            wire.append(forms.of(message))
    return wire
