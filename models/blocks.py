"""A reply whose content is a list of blocks, brought back to text where text is all there is."""

from __future__ import annotations

from langchain_core.messages import AIMessage

from manus.models.origins import is_signed
from manus.models.thoughts import REASONING
from manus.state.messages import text_of

_CALLS = ("tool_call", "invalid_tool_call")


def as_text(message: AIMessage) -> AIMessage:
    """The reply with its text as content, if its blocks hold nothing but text and its calls.

    Text that is signed stays a block; a thought that stands beside the reply too is left out.

    Under LangGraph's newer streaming protocol LangChain makes blocks of every reply. The history
    is the same however it was streamed, and the calls stand in it once.
    """
    blocks = message.content
    if message.response_metadata.get("output_version") != "v1" or not isinstance(blocks, list):
        return message
    known = ("reasoning",) if REASONING in message.additional_kwargs else ()
    kinds = {block.get("type") if isinstance(block, dict) else "text" for block in blocks}
    if kinds <= {"text", *known, *_CALLS} and not any(map(is_signed, blocks)):
        message.content = text_of(message)
        del message.response_metadata["output_version"]
    return message
