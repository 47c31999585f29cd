"""Requests as the extras' providers want them, and their replies as the history wants them.

OpenAI's protocol needs none of this: `manus.models.openai_chat` writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from manus.models.cache_marks import with_cache_marks
from manus.models.extras import EXTRAS
from manus.models.prompted import in_words
from manus.models.reasoning import REASONING, is_signed, is_thought
from manus.models.replies import reason_of
from manus.state.messages import calls_of, has_calls, text_of

_WANT_TOOLS = frozenset({"anthropic", "bedrock"})
"""Calls in the history are refused where the request offers no tools."""
_REPEATED = frozenset({"tool_use", "tool_call", "invalid_tool_call", "input_json_delta"})
"""Blocks that say again what stands in the message's calls, before these were repaired."""


def to_provider(
    request: Sequence[BaseMessage], provider: str, *, with_tools: bool, model: str = ""
) -> list[BaseMessage]:
    """The request in a provider's dialect; its messages stay as they are. `model` is its name."""
    if provider not in EXTRAS:
        return list(request)
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


def from_provider(message: AIMessage, provider: str) -> AIMessage:
    """A reply with its calls in one place, text alone as text, and why it ended under one name."""
    if provider in EXTRAS and (reason := reason_of(message)):
        message.response_metadata.setdefault("finish_reason", reason)
    if provider == "google":  # its package says one of the calls again there, and sends it again
        message.additional_kwargs.pop("function_call", None)
    own = _with_own_blocks(message, provider)
    if isinstance(message.content, list) and (own or provider in EXTRAS):
        blocks = _said_once(message.content)
        plain = all(map(_is_plain, blocks))
        message.content = "".join(map(_text, blocks)) if plain else blocks
    return message


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


def _with_own_blocks(message: AIMessage, provider: str) -> bool:
    """Whether a reply had blocks in LangChain's common form; they are then in the provider's own.

    Its newer streaming makes such blocks of every reply. The history holds one form, however its
    replies were streamed; what is signed is found where the provider's package looks for it.
    """
    content = message.content
    if message.response_metadata.get("output_version") != "v1" or not isinstance(content, list):
        return False
    known = ("reasoning",) if REASONING in message.additional_kwargs else ()
    kinds = {block.get("type") if isinstance(block, dict) else "text" for block in content}
    plain = kinds <= {"text", *known, "tool_call", "invalid_tool_call"}
    if plain and not any(map(is_signed, content)):
        message.content = text_of(message)
        del message.response_metadata["output_version"]
        return False
    message.content = [_own(block, provider) for block in content]
    del message.response_metadata["output_version"]
    return True


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
