"""Blocks in LangChain's common form, as its newer streaming makes them, in the provider's own.

A history holds one form, however its replies were streamed; what is signed is then found in the
place where the provider's package looks for it.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage

Block = dict[str, Any]


def with_own_blocks(message: AIMessage, provider: str) -> bool:
    """Whether a reply had blocks in the common form; they are then in the provider's own."""
    content = message.content
    if message.response_metadata.get("output_version") != "v1" or not isinstance(content, list):
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


def _thought(block: Block, provider: str) -> Block:
    said = str(block.get("reasoning") or "")
    extras = block.get("extras")
    extras = extras if isinstance(extras, dict) else {}
    signature = {"signature": extras["signature"]} if extras.get("signature") else {}
    if provider == "bedrock":
        if "redacted_content" in extras:
            inner: Block = {"redacted_content": extras["redacted_content"]}
        else:
            inner = {"text": said, **signature}
        return {"type": "reasoning_content", "reasoning_content": inner}
    return {"type": "thinking", "thinking": said, **signature}
