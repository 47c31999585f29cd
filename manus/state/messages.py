"""The reducer of the message history, and functions that query messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)

MALFORMED_AT = "malformed_at"
"""In a message's `additional_kwargs`: the ascending indexes of its malformed calls among all its
calls."""


SOURCE = "source"
"""In a tool message's `additional_kwargs`: the source of its text (`prompts/sources.py`)."""

OWN_TEXT = "own_text"
"""In a tool message's `additional_kwargs`: the beginning of its text, which the tool itself
wrote."""

CALL_FACTS = "call"
"""In a tool message's `additional_kwargs`: the duration of its call (`seconds`), whether it was
`executed`, and optionally the `fingerprint` of its result."""

THROUGH = "through_use_tool"
"""In an assistant message's `additional_kwargs`: the ids of its calls that were made through
`use_tool`."""

DESCRIBES = "describes_tool"
"""In a tool message's `additional_kwargs`: the name of the tool that it describes."""

DESCRIPTION = "tool_description"
"""In a tool message's `additional_kwargs`: a tool's description that follows the text in requests,
outside the frame of untrusted text."""

FROM_TOOL = "from_tool"
"""In the `additional_kwargs` of a message that a tool has added to the history: the tool's name."""

CLOSES = "closes"
"""In the `additional_kwargs` of an assistant message that repeats a run's output: the id of the
message before it. Requests omit it while the history has that one."""

STEER = "steer"
"""In a user message's `additional_kwargs`: it was sent during a run, and is not a new request."""

FAILED = "failed"
"""In a tool message's `additional_kwargs`: the call was refused, or its tool failed. A command with
a nonzero exit code has not failed in this sense."""


def list_calls(message: AIMessage) -> list[ToolCall | InvalidToolCall]:
    """Return all calls of a message, well-formed or malformed, in call order.

    LangChain stores the two kinds separately; `MALFORMED_AT` has the indexes of the malformed ones.
    Without it, they come last.
    """
    calls: list[ToolCall | InvalidToolCall] = [*message.tool_calls]
    if not message.invalid_tool_calls:
        return calls
    indexes = message.additional_kwargs.get(MALFORMED_AT, ())
    for number, call in enumerate(message.invalid_tool_calls):
        calls.insert(indexes[number] if number < len(indexes) else len(calls), call)
    return calls


def call_ids(message: AIMessage) -> list[str]:
    """Return the ids of all calls of a message, in call order."""
    return [str(call["id"]) for call in list_calls(message)]


def has_calls(message: BaseMessage) -> bool:
    """Return whether an assistant message has tool calls, well-formed or malformed."""
    return isinstance(message, AIMessage) and bool(message.tool_calls or message.invalid_tool_calls)


def ephemeral(text: str, images: Sequence[dict[str, Any]] = ()) -> HumanMessage:
    """Return a message for one request alone, which is never part of the history.

    `images` are content blocks.
    """
    content: Any = [{"type": "text", "text": text}, *images] if images else text
    return HumanMessage(content, additional_kwargs={"ephemeral": True})


def is_ephemeral(message: BaseMessage) -> bool:
    """Return whether a message is for one request alone."""
    return bool(message.additional_kwargs.get("ephemeral"))


def call_facts(message: ToolMessage) -> dict[str, Any]:
    """Return the facts about the call that a tool message answers (see `CALL_FACTS`)."""
    facts = message.additional_kwargs.get(CALL_FACTS)
    if facts is None and isinstance(message.artifact, dict) and "executed" in message.artifact:
        facts = message.artifact  # as earlier releases stored it
    return facts or {}


def is_reply(message: BaseMessage) -> bool:
    """Return whether a message is from the model, not an assistant message built by a program."""
    marks = message.additional_kwargs.keys() & {FROM_TOOL, CLOSES}
    return isinstance(message, AIMessage) and not marks


def is_from_user(message: BaseMessage) -> bool:
    """Return whether a message is from the user, not one built by a tool in their name."""
    return isinstance(message, HumanMessage) and FROM_TOOL not in message.additional_kwargs


def is_request(message: BaseMessage) -> bool:
    """Return whether a message is a user request, or the user's answer to a stuck run."""
    return is_from_user(message) and STEER not in message.additional_kwargs


def last_assistant(history: Sequence[AnyMessage]) -> AIMessage | None:
    """Return the newest assistant message, or None."""
    return cast("AIMessage | None", next(filter(is_reply, reversed(history)), None))


def newest_answers(history: Sequence[AnyMessage]) -> list[ToolMessage]:
    """Return the tool messages after the newest assistant message, in order."""
    answers: list[ToolMessage] = []
    for message in reversed(history):
        if is_reply(message):
            break
        if isinstance(message, ToolMessage):
            answers.append(message)
    return answers[::-1]


def last_request(history: Sequence[AnyMessage]) -> HumanMessage:
    """Return the user's newest request; an empty one, with an empty id, if there is none."""
    message = next(filter(is_request, reversed(history)), None)
    return cast(HumanMessage, message or HumanMessage("", id=""))


def is_image(block: object) -> bool:
    """Return whether a block of a message's content is an image."""
    return isinstance(block, dict) and block.get("type") in ("image", "image_url")


def has_image(message: BaseMessage) -> bool:
    """Return whether the content of a message has an image."""
    return isinstance(message.content, list) and any(map(is_image, message.content))


def with_texts(content: Any, change: Callable[[str], str]) -> Any:
    """Return the content of a message with each text in it changed."""
    if isinstance(content, str):
        return change(content)
    if isinstance(content, list):
        return [with_texts(block, change) for block in content]
    text = content.get("text")
    if not isinstance(text, str) or not text:
        return content
    return {**content, "text": change(text)}


def get_source(message: BaseMessage) -> str:
    """Return the source of a message's text; empty if it comes from `manus` or the user."""
    return str(message.additional_kwargs.get(SOURCE, ""))


def get_own_text(message: BaseMessage) -> str:
    """Return the beginning of a message's text, which its tool itself wrote."""
    return str(message.additional_kwargs.get(OWN_TEXT, ""))


def get_text(message: BaseMessage) -> str:
    """Return the text of a message, whatever the form of its content, without images."""
    return str(message.text)


def readable_thoughts(message: AIMessage) -> str:
    """Return the readable reasoning in a message or chunk, not the sealed one."""
    reasoning = message.additional_kwargs.get("reasoning_content")
    if reasoning or isinstance(message.content, str):
        return str(reasoning or "")
    texts = []
    for block in message.content_blocks:
        if block["type"] == "reasoning":
            texts.append(block.get("reasoning", ""))
    return "".join(texts)
