"""ChatOpenAI without the cost that grows with the history, and always as a stream.

The openai SDK walks every message of a request to transform typed parameters and encodes all of
them anew, on each call: most of an agent's own time in a long run. Here each message is brought
into its wire form once, and a request is those forms joined.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Literal, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_openai.chat_models.base import BaseChatOpenAI, ChatOpenAI
from openai import APIConnectionError, AsyncStream

from manus.config.context import is_watched
from manus.models.errors import NoChoicesError
from manus.models.normalize import ReplyReader
from manus.models.reasoning import own_thoughts
from manus.models.wire_forms import SEND_REASONING, Back, encode, wire_messages

_OPENAI_REASONERS = ("gpt-5", "o1", "o3", "o4")
Parts = AsyncGenerator[ChatGenerationChunk]
_END = object()


class EventStream(AsyncStream[object]):
    """The server-sent events of one reply."""

    is_complete = False
    """Whether the server has sent `[DONE]`, which the SDK keeps to itself."""

    async def _iter_events(self) -> AsyncIterator[Any]:
        async for event in super()._iter_events():
            self.is_complete |= event.data.startswith("[DONE]")
            yield event


class FastChat(BaseChatOpenAI):
    """A client of OpenAI's that hands the SDK a body it has neither to walk nor to encode."""

    disable_streaming: bool | Literal["tool_calling"] = True
    """LangChain's own: this client streams by itself, and tells of each part."""

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002 - the name is LangChain's
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """As the base; without its callbacks, and its copies for them, where nobody listens."""
        if not isinstance(input, list) or is_watched(ensure_config(config)) or self.callbacks:
            return await super().ainvoke(input, config, stop=stop, **kwargs)
        result = await self._agenerate(convert_to_messages(input), stop, **kwargs)
        return cast(AIMessage, result.generations[0].message)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """The reply, whose parts are told as they come.

        LangChain's own way of putting them together completes what is no JSON in time that grows
        with its square: a minute for a file that a model has not escaped.
        """
        back = kwargs.pop(SEND_REASONING, None) or Back()
        reader = ReplyReader()
        parts = []
        payload = self._get_request_payload([], stop=stop, **kwargs)
        is_chat = "messages" in payload  # else it is for OpenAI's newer protocol
        if is_chat:
            source = self._chat(reader, self._body(payload, wire_messages(messages, back)))
        else:
            own = own_thoughts(messages, back.origin)
            source = cast(Parts, super()._astream(own, stop, **kwargs))
        async with aclosing(source) as stream:
            async for part in stream:
                if run_manager is not None:
                    part.message.id = f"lc_run--{run_manager.run_id}"
                    await run_manager.on_llm_new_token(part.text, chunk=part)
                parts.append(part)
        if not is_chat:
            return generate_from_stream(iter(parts))
        message = reader.message()
        message.id = parts[-1].message.id
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _chat(self, reader: ReplyReader, body: bytes) -> Parts:
        """Yield the parts of a reply in the chat completions protocol.

        Raises:
            ConnectionError: the stream ended before the reply was complete.
            NoChoicesError: the reply is complete, and there is nothing in it.
        """
        async with aclosing(self._chunks(reader, body)) as chunks:
            while not reader.is_over:
                chunk = await self._next_chunk(reader, chunks)
                if chunk is _END:
                    break
                if (message := reader.feed(chunk)) is not None:
                    yield ChatGenerationChunk(message=message)
        if not (reader.is_complete or reader.is_over):
            raise ConnectionError("the stream ended before the reply was complete")
        if not reader.has_begun:
            raise NoChoicesError
        yield ChatGenerationChunk(message=reader.end())

    async def _next_chunk(self, reader: ReplyReader, chunks: AsyncGenerator[Any]) -> Any:
        """Return the next chunk, or `_END`; what fails behind a finish reason is an end, too."""
        try:
            async with asyncio.timeout(self.stream_chunk_timeout):
                return await anext(chunks, _END)
        except (APIConnectionError, TimeoutError):
            if reader.is_complete:
                return _END
            raise

    async def _chunks(self, reader: ReplyReader, body: bytes) -> AsyncGenerator[Any]:
        """Yield the chunks of a reply as the server sends them; tell the reader of their end."""
        stream = await self.root_async_client.post(
            "/chat/completions",
            cast_to=object,
            content=body,
            options={"headers": {"Content-Type": "application/json"}},
            stream=True,
            stream_cls=EventStream,
        )
        async with stream:
            kind = stream.response.headers.get("content-type", "").lower()
            if "json" in kind or "html" in kind:
                whole = await stream.response.aread()
                yield in_one_piece(whole)
                reader.is_complete |= bool(whole.strip())
                return
            async for chunk in stream:
                yield chunk
            reader.is_complete |= stream.is_complete

    def _body(self, payload: dict[str, Any], wire: list[bytes]) -> bytes:
        """The body of a request: the messages first, so that it begins as the one before it."""
        payload.pop("messages")
        name = (self.model_name or "").rpartition("/")[2].lower()
        reasons = name.startswith(_OPENAI_REASONERS)
        if self.openai_api_base and not reasons and "max_completion_tokens" in payload:
            # what servers beside OpenAI's reasoning models know it by; some refuse the newer name
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        if reasons and "chat" not in name and payload.get("reasoning_effort") != "none":
            payload.pop("temperature", None)  # they refuse one
        payload |= {"stream": True, "stream_options": {"include_usage": True}}
        return b'{"messages":[' + b",".join(wire) + b"]," + encode(payload)[1:]


class FastChatOpenAI(FastChat, ChatOpenAI):
    """ChatOpenAI without the cost that grows with the history."""


def in_one_piece(body: bytes) -> Any:
    """The reply of a server that does not stream, or what it says is wrong."""
    found = json.loads(body) if body.strip() else {}
    if found and not (isinstance(found, dict) and {"choices", "error"} & found.keys()):
        raise ValueError("there is no reply in it")
    if isinstance(said := found.get("error"), str):  # of a path that is none, mostly
        raise ValueError(said)
    return found
