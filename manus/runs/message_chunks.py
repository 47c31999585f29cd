"""What each chunk of a streamed message adds to the text that a person sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from manus.state.messages import thinking_in


def text_chunks(
    message: Any, metadata: Mapping[str, Any], *nodes: str
) -> Iterator[tuple[str, str, str, str]]:
    """What a piece of a model's message adds, if one of these nodes asked for it.

    An id of the text that it goes on with, its kind (`thinks`, `says`, `call`), the name of a tool,
    and the text.
    """
    if metadata.get("langgraph_node") not in nodes or message.type != "AIMessageChunk":
        return
    for kind, text in (("thinks", thinking_in(message)), ("says", str(message.text))):
        if text:
            yield f"{message.id} {kind}", kind, "", text
    for call in message.tool_call_chunks:
        of = f"{message.id} {call.get('index')}"
        yield of, "call", call.get("name") or "", call.get("args") or ""
