"""A model without tools whose calls, written as text, stream as those of any other model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.constants import TAG_NOSTREAM

from manus.models.call_reader import CallReader
from manus.models.prompted_tools import CALL_IDS, SAID, read_call
from manus.state.messages import text_of

_SILENT: Any = {"tags": [TAG_NOSTREAM]}


class PromptedModel(BaseChatModel):
    """Another model, with the calls in its text given as pieces of tool calls while it streams.

    What it said word for word goes along (`SAID`), for `with_prompted_calls` to read in whole.
    """

    inner: BaseChatModel

    @property
    def _llm_type(self) -> str:
        return "prompted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("Models are asked asynchronously here.")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = await self.inner.ainvoke(messages, _SILENT)
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        reader = CallReader(read_call)
        async for chunk in self.inner.astream(messages, _SILENT):
            if isinstance(chunk, AIMessageChunk):
                yield _part(chunk, *reader.feed(text_of(chunk)))
        told = {SAID: reader.said, CALL_IDS: reader.ids}
        text, calls = reader.end()
        last = AIMessageChunk(content=text, tool_call_chunks=calls, additional_kwargs=told)
        yield ChatGenerationChunk(message=last)


def _part(chunk: AIMessageChunk, text: str, calls: list[ToolCallChunk]) -> ChatGenerationChunk:
    message = AIMessageChunk(
        content=text,
        tool_call_chunks=calls,
        id=chunk.id,
        usage_metadata=chunk.usage_metadata,
        response_metadata=chunk.response_metadata,
        additional_kwargs=chunk.additional_kwargs,
    )
    return ChatGenerationChunk(message=message)
