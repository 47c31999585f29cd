"""Messages in the form in which spans hold them: a role, and parts."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from manus.state.messages import calls_of, text_of

_ROLES = {"ai": "assistant", "human": "user"}


def spoken(message: BaseMessage) -> dict[str, Any]:
    """A message after the conventions' schema. Of a picture it is said only that it was there."""
    role = _ROLES.get(message.type, message.type)
    if isinstance(message, ToolMessage):
        answer = {"type": "tool_call_response", "id": message.tool_call_id}
        return {"role": "tool", "parts": [{**answer, "response": text_of(message)}]}
    text = text_of(message)
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "image"} for _ in _images(message)]
    if isinstance(message, AIMessage):
        parts += [
            {"type": "tool_call", "id": c["id"], "name": c["name"], "arguments": c["args"]}
            for c in calls_of(message)
        ]
    return {"role": role, "parts": parts}


def _images(message: BaseMessage) -> list[Any]:
    blocks = message.content if isinstance(message.content, list) else []
    return [b for b in blocks if isinstance(b, dict) and "image" in str(b.get("type"))]
