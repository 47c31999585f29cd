"""Which endpoint a thought came from: what is signed or encrypted means something to it alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage

from manus.models.model_names import DEFAULT_MODEL, address_of, split_spec
from manus.models.sealed import SEALED, drop_sealed, is_sealed, renamed
from manus.models.thoughts import GOES_BACK, REASONING, THOUGHT_AS
from manus.state.model_settings import ModelSettings

THOUGHT_BY = "thought_by"
"""In a message's `additional_kwargs`, beside thoughts: `origin_of` the endpoint that gave them."""
GOOGLES = "__gemini_function_call_thought_signatures__"
"""In `additional_kwargs`, as Google's package has it: signatures by the ids of calls."""
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
BESIDE = (REASONING, THOUGHT_AS, THOUGHT_BY, GOOGLES, *SEALED)
"""All that may stand in `additional_kwargs` of what was thought."""
_SEALS = frozenset({"signature", "thought_signature"})


class Back(NamedTuple):
    """How thoughts go back to a compatible server: an argument of the model's call."""

    origin: str = ""
    text: bool = False
    """What can be read, as `reasoning_content`, of every message of the assistant."""
    as_given: bool = False
    """Under the name that the server has for it."""
    sealed: bool = True
    """What is signed or encrypted, to the endpoint that gave it."""
    excused: bool = False
    """Calls that have no signature say so."""


def origin_of(endpoint: ModelSettings) -> str:
    """A short name for an endpoint's address and model; no address can be read from it."""
    provider, name = split_spec(endpoint.model or DEFAULT_MODEL)
    named = "\n".join((address_of(endpoint).rstrip("/"), provider, name))
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def with_origin(message: AIMessage, endpoint: ModelSettings) -> AIMessage:
    """The reply of an endpoint, with its name beside what was thought.

    What is sealed is kept only to be sent: not where it never is. A recorded reply keeps the name
    of the endpoint that gave it then.
    """
    if endpoint.send_reasoning is False:
        drop_sealed(message)
    if _is_thoughtful(message):
        message.additional_kwargs.setdefault(THOUGHT_BY, origin_of(endpoint))
    return message


def with_words_sent(message: AIMessage) -> AIMessage:
    """The reply of an endpoint that has the words of a thought back: they count as tokens."""
    if REASONING in message.additional_kwargs:
        message.additional_kwargs[GOES_BACK] = True
    return message


def _is_thoughtful(message: AIMessage) -> bool:
    beside = (REASONING, GOOGLES)
    return (
        any(name in message.additional_kwargs for name in beside)
        or is_sealed(message)
        or bool(thought_blocks(message))
    )


def thought_blocks(message: AIMessage) -> list[Any]:
    """The thoughts among the blocks of a message."""
    content = message.content
    return [b for b in content if is_thought(b)] if isinstance(content, list) else []


def is_thought(block: Any) -> bool:
    """Whether a block of a message is a thought, or signed."""
    if not isinstance(block, dict):
        return False
    return block.get("type") in _THOUGHTS or is_signed(block)


def is_signed(block: Any) -> bool:
    """Whether a block of a message bears a signature."""
    if not isinstance(block, dict):
        return False
    extras = block.get("extras")
    return not _SEALS.isdisjoint([*block, *(extras if isinstance(extras, dict) else ())])


def is_foreign(message: AIMessage, origin: str) -> bool:
    """Whether another endpoint is known to have thought what is with a message."""
    return bool(message.additional_kwargs.get(THOUGHT_BY, origin) != origin)


def follow(message: AIMessage, new_ids: Sequence[tuple[str, str]]) -> None:
    """Keep what belongs to calls by their ids with them, where these have got others (old, new)."""
    renamed(message, new_ids)
    signatures = message.additional_kwargs.get(GOOGLES, {})
    blocks = message.content if isinstance(message.content, list) else ()
    for old, new in new_ids:
        if old in signatures:
            signatures[new] = signatures.pop(old)
        for block in blocks:
            if isinstance(block, dict) and block.get("id") == old:
                block["id"] = new


def own_thoughts(request: Sequence[BaseMessage], back: Back) -> list[BaseMessage]:
    """The request without what other endpoints thought, or without all if nothing goes back.

    Its messages stay as they are.
    """
    return [
        without_thoughts(message)
        if isinstance(message, AIMessage) and (not back.sealed or is_foreign(message, back.origin))
        else message
        for message in request
    ]


def without_thoughts(message: AIMessage) -> AIMessage:
    """A copy of a message for an endpoint that has not thought what is with it: what it says."""
    content = message.content
    if isinstance(content, list):
        kept = [_unsigned(block) for block in content if not _is_left_out(block)]
        content = kept or ""
    beside = {k: v for k, v in message.additional_kwargs.items() if k != GOOGLES}
    return message.model_copy(update={"content": content, "additional_kwargs": beside})


def _is_left_out(block: Any) -> bool:
    """Thoughts, and calls in their midst, which stand in the message's own calls too."""
    return isinstance(block, dict) and block.get("type") in {*_THOUGHTS, "tool_use"}


def _unsigned(block: Any) -> Any:
    if not isinstance(block, dict) or not is_signed(block):
        return block
    return {k: v for k, v in block.items() if k not in _SEALS and k != "extras"}
