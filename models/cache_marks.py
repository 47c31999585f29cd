"""Marks for providers that keep the beginning of a request in a cache only where they are told to.

Two marks: one after the system prompt (and the tools, which come before it), which holds for all
runs of a profile; one after the history, which moves on with it. The last message of a request is
made anew at each step and stays outside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage

from manus.models.recording import is_ephemeral

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
    """The request with its marks; itself for a provider, or a model there, that wants none."""
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
