"""What a model thinks aloud, in whichever place its provider's package puts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = ("reasoning_content", "reasoning", "thinking")
_KINDS = frozenset({"thinking", "reasoning", "reasoning_content"})


def thinking_in(message: Any) -> str:
    """What of a message, or of a piece of one, is thought and can be read; nothing sealed."""
    content = message.content if isinstance(message.content, list) else ()
    said = next(filter(None, map(_text, (message.additional_kwargs.get(n) for n in _NAMES))), "")
    return said or "".join(map(_of_block, content))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _of_block(block: Any) -> str:
    if not isinstance(block, Mapping) or block.get("type") not in _KINDS:
        return ""
    inner = block.get("reasoning_content")  # Bedrock's
    if isinstance(inner, Mapping):
        return _text(inner.get("text"))
    return next(filter(None, (_text(block.get(name)) for name in _NAMES)), "")
