"""Adapt the messages of a request to the LangChain package of a provider."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from manus.config.provider_table import Provider
from manus.models.prompted import list_blocks
from manus.state.messages import get_text, is_ephemeral, is_image, list_calls


def adapt_to_package(
    request: Sequence[BaseMessage], package: Provider, model: Any = None
) -> list[BaseMessage]:
    """Return the request as a provider's package needs it; leave its messages unchanged."""
    messages = [_with_object_arguments(message) for message in request]
    return with_cache_marks(messages, package, str(getattr(model, "model_id", "")))


def _with_object_arguments(message: BaseMessage) -> BaseMessage:
    """Return the message with an object as the arguments of each malformed call.

    Its tool messages need a call to answer.
    """
    if not isinstance(message, AIMessage) or not message.invalid_tool_calls:
        return message
    calls: list[ToolCall] = []
    for call in list_calls(message):
        arguments = call["args"]
        if not isinstance(arguments, dict):
            arguments = {"malformed_arguments": arguments}
        calls.append(ToolCall(id=call["id"], name=call["name"] or "", args=arguments))
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})


def with_cache_marks(
    request: Sequence[BaseMessage], package: Provider, model: str = ""
) -> list[BaseMessage]:
    """Return the request with prompt-cache marks, if the provider needs any.

    Two marks: one after the system prompt (and the tools, which come before it), valid for all runs
    of a profile; one after the history, which moves with it. The last message of a request is new
    at each step and is not cached.
    """
    messages = [*request]
    if package.mark is None or not re.search(package.marked, model):
        return messages
    indexes = [
        index
        for index, message in enumerate(messages)
        if _can_carry_mark(message) and not is_ephemeral(message)
    ]
    for index in {*indexes[:1], *indexes[-1:]}:
        messages[index] = _with_mark(messages[index], package.mark)
    return messages


def _with_mark(message: BaseMessage, mark: Mapping[str, Any]) -> BaseMessage:
    """Return the message with a mark in its last block, or in a separate block after it."""
    *before, last = list_blocks(message.content)
    content = [*before, last, dict(mark)]
    if "cache_control" in mark:
        content = [*before, {**last, **mark}]
    return message.model_copy(update={"content": content})


def _can_carry_mark(message: BaseMessage) -> bool:
    """Return whether a message has text and ends in a block that can carry a mark."""
    if not get_text(message).strip():
        return False
    last = list_blocks(message.content)[-1]
    return is_image(last) or (isinstance(last, dict) and last.get("type") == "text")
