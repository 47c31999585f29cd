"""Requests as the extras' providers want them, and their replies as the history wants them.

OpenAI's protocol needs none of this: `manus.models.openai_chat` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall

from manus.models.prompted import in_words
from manus.models.reasoning import is_thought
from manus.models.recording import is_ephemeral
from manus.models.replies import reason_of
from manus.state.messages import calls_of, has_calls

_WANT_TOOLS = frozenset({"anthropic", "bedrock"})
"""Calls in the history are refused where the request offers no tools."""
_REPEATED = frozenset({"tool_use", "tool_call", "invalid_tool_call", "input_json_delta"})
"""Blocks that say again what stands in the message's calls, before these were repaired."""


def to_provider(
    request: Sequence[BaseMessage], provider: str, *, with_tools: bool, model: str = ""
) -> list[BaseMessage]:
    """The request in a provider's dialect; its messages stay as they are. `model` is its name."""
    if not with_tools and provider in _WANT_TOOLS and any(map(_has_calls, request)):
        request = in_words(request)
    return with_cache_marks([_with_whole_calls(message) for message in request], provider, model)


def _has_calls(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and has_calls(message)


def _with_whole_calls(message: BaseMessage) -> BaseMessage:
    """A message whose malformed calls have an object for arguments: their answers need them."""
    if not isinstance(message, AIMessage) or not message.invalid_tool_calls:
        return message
    calls = [
        ToolCall(id=call["id"], name=call["name"] or "", args=_object(call["args"]))
        for call in calls_of(message)
    ]
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})


def _object(args: Any) -> dict[str, Any]:
    return args if isinstance(args, dict) else {"malformed_arguments": args or ""}


def from_provider(message: AIMessage, provider: str) -> None:
    """Bring calls into one place, text alone as text, and why it ended under one name."""
    if reason := reason_of(message):
        message.response_metadata.setdefault("finish_reason", reason)
    if provider == "google":  # its package says one of the calls again there, and sends it again
        message.additional_kwargs.pop("function_call", None)
    if not isinstance(message.content, list):
        return
    if message.response_metadata.pop("output_version", "") == "v1":
        # LangChain's newer streaming makes its own blocks of every reply
        message.content = [_own(block, provider) for block in message.content]
    blocks = _said_once(message.content)
    plain = all(map(_is_plain, blocks))
    message.content = "".join(map(_text, blocks)) if plain else blocks


def _said_once(content: list[Any]) -> list[Any]:
    """The blocks without those of calls, but for the places of calls among thoughts.

    Anthropic refuses thoughts in another order than that in which they were thought.
    """
    thoughts = [place for place, block in enumerate(content) if is_thought(block)]
    last = thoughts[-1] if thoughts else 0
    found = (
        _place_of_call(block) if _is_repeated(block) else block
        for place, block in enumerate(content)
        if place < last or not _is_repeated(block)
    )
    return [block for block in found if block is not None]


def _place_of_call(block: dict[str, Any]) -> dict[str, Any] | None:
    """Only where a call stands: what it is, its package takes from the message's calls."""
    id_, name = block.get("id"), block.get("name")
    if block.get("type") != "tool_use" or not (id_ and name):
        return None
    return {"type": "tool_use", "id": id_, "name": name, "input": {}}


def _is_repeated(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _REPEATED


def _is_plain(block: Any) -> bool:
    return isinstance(block, str) or (set(block) <= {"type", "text", "index"} and "text" in block)


def _text(block: Any) -> str:
    return block if isinstance(block, str) else str(block["text"])


def _own(block: Any, provider: str) -> Any:
    if not isinstance(block, dict):
        return block
    kind = block.get("type")
    if kind == "non_standard" and isinstance(block.get("value"), dict):
        return block["value"]
    if kind == "reasoning":
        return _thought(block, provider)
    if kind in ("tool_call", "invalid_tool_call"):
        return {**block, "type": "tool_use"}
    return {name: value for name, value in block.items() if name != "index"}


def _thought(block: dict[str, Any], provider: str) -> dict[str, Any]:
    said = str(block.get("reasoning") or "")
    extras = block.get("extras")
    extras = extras if isinstance(extras, dict) else {}
    signature = {"signature": extras["signature"]} if extras.get("signature") else {}
    if provider == "bedrock":
        if "redacted_content" in extras:
            inner: dict[str, Any] = {"redacted_content": extras["redacted_content"]}
        else:
            inner = {"text": said, **signature}
        return {"type": "reasoning_content", "reasoning_content": inner}
    return {"type": "thinking", "thinking": said, **signature}


MARK = {"type": "ephemeral"}
POINT = {"cachePoint": {"type": "default"}}
_IMAGES = ("image", "image_url")
# Bedrock's models that know the mark, from "Prompt caching" in Amazon's user guide; not Claude 3.5
# Sonnet v2, which knows it for some customers only.
_KNOWS_POINT = re.compile(
    r"claude-(?:3-5-haiku|3-7|(?:opus|sonnet|haiku)-[4-9])"
    r"|nova-(?:micro|lite|pro|premier)"
)


def with_cache_marks(
    request: Sequence[BaseMessage], provider: str, model: str = ""
) -> list[BaseMessage]:
    """The request with marks where a provider is told to cache; itself for one that wants none.

    Two marks: one after the system prompt (and the tools, which come before it), which holds for
    all runs of a profile; one after the history, which moves on with it. The last message of a
    request is made anew at each step and stays outside.
    """
    made = list(request)
    if provider != "anthropic" and not (provider == "bedrock" and _KNOWS_POINT.search(model)):
        return made
    behind = (i for i in range(len(made) - 1, 0, -1) if not is_ephemeral(made[i]))
    last = next((i for i in behind if _takes_mark(made[i])), 0)
    for place in {0, last} if made else set():
        if (place or isinstance(made[0], SystemMessage)) and _takes_mark(made[place]):
            made[place] = _marked(made[place], provider)
    return made


def _takes_mark(message: BaseMessage) -> bool:
    """Whether a message ends in words or an image: what else there is may not be marked."""
    if isinstance(message.content, str):
        return bool(message.content.strip())  # a block without text would be refused
    block = message.content[-1] if message.content else None
    if not isinstance(block, dict):
        return False
    return bool(str(block.get("text") or "").strip()) or block.get("type") in _IMAGES


def _marked(message: BaseMessage, provider: str) -> BaseMessage:
    content = message.content
    text = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks: list[Any] = list(text)
    if provider == "bedrock":
        blocks.append(POINT)
    else:
        blocks[-1] = {**blocks[-1], "cache_control": MARK}
    return message.model_copy(update={"content": blocks})
