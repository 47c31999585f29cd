"""Split the chunks of a streamed message into text, reasoning and tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from manus.state.messages import readable_thoughts


class StreamedText:
    """The text of the reply that the agent is streaming; empty once the reply is stored."""

    def __init__(self) -> None:
        self.text = ""
        self._id = ""

    def read(self, mode: str, data: Any) -> None:
        """Read one part of the stream of an agent's graph."""
        if mode == "custom":
            if isinstance(data, dict) and data.get("type") == "thought":
                self.text = ""
            return
        for text_id, kind, _, text in text_chunks(*data, "think"):
            if kind == "says":
                before = self.text if text_id == self._id else ""
                self._id = text_id
                self.text = before + text


def text_chunks(
    message: Any, metadata: Mapping[str, Any], *nodes: str
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the parts of a message chunk, if one of `nodes` requested the message.

    Each part is (id of the text it continues, kind, tool name, text); the kind is `thinks`,
    `says` or `call`.
    """
    if metadata.get("langgraph_node") not in nodes or message.type != "AIMessageChunk":
        return
    for kind, text in (("thinks", readable_thoughts(message)), ("says", str(message.text))):
        if text:
            yield f"{message.id} {kind}", kind, "", text
    for call in message.tool_call_chunks:
        text_id = f"{message.id} {call.get('index')}"
        yield text_id, "call", call.get("name") or "", call.get("args") or ""
