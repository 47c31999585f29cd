"""Encode messages for the chat completions protocol, each message once."""

from __future__ import annotations

import json
from functools import lru_cache, partial
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
    convert_to_openai_messages,
)

from manus.config.model_settings import ModelSettings
from manus.models.reasoning import REASONING, hash_origin, is_foreign, restore_sealed
from manus.state.messages import PerHistory, PerMessage, get_text, list_calls

SEND_REASONING = "send_reasoning"
"""Keyword argument of a model call: the `ReasoningPolicy`."""
WIRE_FORMS = "wire_forms"
"""Keyword argument of a model call: the `WireForms` of requests that extend one another."""
IMAGE_FOLLOWS = "[The image follows in the next message.]"
_WANT_REASONING = ("api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn")
"""Servers that require `reasoning_content` to be sent back:
api-docs.deepseek.com/guides/thinking_mode."""


class ReasoningPolicy(NamedTuple):
    """Which reasoning is sent back to a compatible server."""

    origin: str = ""
    """`hash_origin` the endpoint whose sealed reasoning is sent back; if empty, none is."""
    text: bool = False
    """Whether readable reasoning is sent, with every assistant message."""


@lru_cache(64)
def select_reasoning_policy(endpoint: ModelSettings) -> ReasoningPolicy:
    """Return which reasoning is sent back to an endpoint."""
    if endpoint.send_reasoning is False:
        return ReasoningPolicy("", text=False)
    needs_text = any(host in (endpoint.base_url or "") for host in _WANT_REASONING)
    return ReasoningPolicy(hash_origin(endpoint), text=endpoint.send_reasoning or needs_text)


def encode(value: Any) -> bytes:
    """Return compact JSON in UTF-8; escape lone surrogates, which UTF-8 cannot encode."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


class WireForm(NamedTuple):
    """An encoded message."""

    content: bytes
    """Its JSON."""
    images: list[Any]
    """The images of a tool message, which follow in a separate message."""


WireForms = PerHistory[WireForm]


def encode_message(message: BaseMessage, policy: ReasoningPolicy) -> WireForm:
    """Return a message encoded as JSON under a policy."""
    images = []
    if isinstance(message, ToolMessage) and isinstance(message.content, list):
        images = _images_in(message.content)
    return WireForm(encode(wire_form(message, policy)), images)


@lru_cache(64)
def _per_message(policy: ReasoningPolicy) -> PerMessage[WireForm]:
    """Return the cache of the messages encoded under a policy, which all runs share."""
    return PerMessage(partial(encode_message, policy=policy))


def new_wire_forms(policy: ReasoningPolicy) -> WireForms:
    """Return the cache of the encoded messages of requests that extend one another."""
    return PerHistory(_per_message(policy).of)


def wire_form(message: BaseMessage, policy: ReasoningPolicy) -> dict[str, Any]:
    """Return a message in the form of the chat completions protocol.

    Arguments that are not JSON are wrapped: several servers parse them again when they fill in
    their prompt template, and refuse the whole history for one malformed call.
    """
    if isinstance(message, AIMessage):
        return _assistant_form(message, policy)
    if isinstance(message, ToolMessage):
        content: Any = message.content
        if isinstance(content, list):
            content = f"{message.text}\n{IMAGE_FOLLOWS}"
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": content}
    form: Any = convert_to_openai_messages(message)
    return dict(form)


def _assistant_form(message: AIMessage, policy: ReasoningPolicy) -> dict[str, Any]:
    calls = [_call_form(call) for call in list_calls(message)]
    # text alone: the blocks may come from another provider's model
    content: str | None = get_text(message)
    if calls and not content:
        content = None
    form: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        form["tool_calls"] = calls
    if policy.text:
        # servers that require the field require it in every message, even if it is empty
        form[REASONING] = ""
    fields = message.additional_kwargs
    if fields and not is_foreign(message, policy.origin):
        if policy.text:
            form[REASONING] = fields.get(REASONING, "")
        restore_sealed(form, message)
    return form


def _call_form(call: ToolCall | InvalidToolCall) -> dict[str, Any]:
    arguments: Any = call["args"]
    if not isinstance(arguments, dict):
        arguments = {"malformed_arguments": arguments or ""}
    function = {"name": call["name"], "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"type": "function", "id": call["id"], "function": function}


def encode_messages(messages: list[BaseMessage], forms: WireForms) -> list[bytes]:
    """Return the encoded messages of a request.

    Only user messages may contain images: those of a batch of tool messages follow it in one.
    """
    request = forms.list_values(messages)
    forms_with_images = [form for form in request if form.images]
    if not forms_with_images:
        return [form.content for form in request]
    wire: list[bytes] = []
    images: list[Any] = []
    for message, form in zip(messages, request, strict=True):
        if images and not isinstance(message, ToolMessage):
            wire.append(_encode_images(images))
            images = []
        images += form.images
        wire.append(form.content)
    if images:
        wire.append(_encode_images(images))
    return wire


def _encode_images(images: list[Any]) -> bytes:
    return encode({"role": "user", "content": images})


def _images_in(content: list[Any]) -> list[Any]:
    blocks = (block for block in content if isinstance(block, dict))
    return [block for block in blocks if block.get("type") == "image_url"]
