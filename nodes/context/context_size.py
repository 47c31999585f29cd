"""How large the next request will be, without counting again what was counted before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from manus.models.tokens import TOKENS
from manus.state.agent import Compaction
from manus.state.messages import calls_of

_IMAGE = 2_000
_AROUND = 40


def counted_at(message: AnyMessage) -> int | None:
    """The tokens of the request that a message answered, and its own."""
    if not isinstance(message, AIMessage):
        return None
    usage = message.usage_metadata
    if usage is not None and usage["input_tokens"]:
        return usage["input_tokens"] + usage["output_tokens"]
    return message.additional_kwargs.get(TOKENS)


def next_size(
    history: Sequence[AnyMessage],
    compaction: Compaction | None,
    size: Callable[[BaseMessage], float],
    fixed: float = 0.0,
) -> float:
    """Tokens of the next request: of the last one, and of what has come since.

    `size` tells the tokens of one message; it is asked for the newest ones only. `fixed` are those
    of what stands around a history that no model was asked with so far.
    """
    total = 0.0
    for message in reversed(history):
        if compaction is not None and message.id == compaction["at"]:
            return total + compaction["size"]
        counted = counted_at(message)
        if counted is not None:
            return total + counted
        total += size(message)
    return total + fixed


def most(message: BaseMessage) -> float:
    """More tokens than a message can reasonably have, told at once."""
    content, around = message.content, _AROUND
    if isinstance(message, AIMessage):
        around += sum(_AROUND + len(str(call["args"])) for call in calls_of(message))
        around += len(str(message.additional_kwargs))
    if isinstance(content, str):
        return len(content) + around
    return sum(map(_length, content)) + _IMAGE * len(content) + around


def _length(block: Any) -> int:
    is_image = isinstance(block, dict) and block.get("type") in ("image", "image_url")
    return 0 if is_image else len(str(block))
