"""ChatOpenAI without the per-call cost that grows with the history; it always streams.

On each call, the openai SDK walks every message of a request to transform typed parameters and
encodes all of them again: most of an agent's own time in a long run. Here each message is encoded
once, and a request joins the encoded messages.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from math import inf
from typing import Any, Literal, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_openai.chat_models.base import BaseChatOpenAI, ChatOpenAI
from openai import APIConnectionError, AsyncStream
from openai._streaming import ServerSentEvent, SSEDecoder

from manus.config.context import is_watched
from manus.config.model_settings import ModelSettings
from manus.models.errors import ReplyFaultError
from manus.models.normalize import ReplyReader
from manus.models.providers import NOT_CONFIGURED, find_rules
from manus.models.reasoning import drop_foreign_reasoning
from manus.models.server_rules import ServerRules
from manus.models.valid_messages import ValidMessages
from manus.models.wire_forms import (
    SERVER_RULES,
    WIRE_FORMS,
    WireForms,
    WireRules,
    encode,
    new_wire_forms,
)
from manus.state.errors import SettingsError

Chunks = AsyncGenerator[ChatGenerationChunk]
_END = object()


def asynchronous_key(key: str) -> Callable[[], Awaitable[str]]:
    """Return a key in the form that keeps LangChain from creating a synchronous client, too."""

    async def get_key() -> str:
        return key

    return get_key


class EventDecoder(SSEDecoder):
    """Decoder that tolerates what the SDK's does not.

    Those are a byte order mark, a last event without its blank line, events without data, several
    JSON values in one event or one split within a line, and errors outside `error`.
    """

    is_complete = False
    """Whether the server has sent `[DONE]`, which the SDK does not expose."""

    async def aiter_bytes(self, iterator: AsyncIterator[bytes]) -> AsyncIterator[ServerSentEvent]:
        """Yield the events that have data, each with one JSON value or `[DONE]`."""
        async for event in super().aiter_bytes(_complete(iterator)):
            for data in _split_values(event.data):
                self.is_complete |= data.startswith("[DONE]")
                if event.event == "error":
                    data = json.dumps({"error": _as_error(data)})
                yield ServerSentEvent(event=event.event, data=data)


async def _complete(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the bytes of a stream without a byte order mark, and with the end of the last event."""
    is_first = True
    async for chunk in chunks:
        yield chunk.removeprefix(codecs.BOM_UTF8) if is_first else chunk
        is_first = False
    yield b"\n\n"


def _split_values(data: str) -> list[str]:
    """Return the values in the data of an event, whose lines are values, or parts of one."""
    lines = [line for line in data.split("\n") if line.strip()]
    if len(lines) < 2 or _is_json(data):
        return ["\n".join(lines)] if lines else []
    if all(line.startswith("[DONE]") or _is_json(line) for line in lines):
        return lines
    return ["".join(lines)]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _as_error(data: str) -> Any:
    """Return the description of an error in the data of an event of that name."""
    if not _is_json(data):
        return {"message": data}
    value = json.loads(data)
    return value.get("error") or value if isinstance(value, dict) else {"message": data}


class EventStream(AsyncStream[object]):
    """The server-sent events of one reply."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.decoder = self._decoder = EventDecoder()


class FastChat(BaseChatOpenAI):
    """OpenAI client that passes the SDK an encoded body, which it need not walk or encode."""

    disable_streaming: bool | Literal["tool_calling"] = True
    """Disables LangChain's streaming: this client streams by itself and reports each chunk."""

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002 - the name is LangChain's
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Return the reply; without listeners and cache, skip the callbacks and their copies."""
        forms = kwargs.pop(WIRE_FORMS, None)
        is_watching = is_watched(ensure_config(config)) or self.callbacks or get_llm_cache()
        if not isinstance(input, list) or is_watching:
            return await super().ainvoke(input, config, stop=stop, **kwargs)
        messages = cast(list[BaseMessage], input)
        if forms is None:  # from other callers
            messages = convert_to_messages(input)
        result = await self._agenerate(messages, stop, wire_forms=forms, **kwargs)
        return cast(AIMessage, result.generations[0].message)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        wire_forms: WireForms | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Return the reply; report its chunks to the callbacks as they arrive.

        LangChain's own merging of chunks completes invalid JSON in quadratic time: a minute for a
        file that a model has not escaped.
        """
        rules: WireRules = kwargs.pop(SERVER_RULES, None) or self._default_rules()
        if self._is_patched():
            request = drop_foreign_reasoning(messages, rules.origin)
            return await self._generate_patched(request, stop, run_manager, **kwargs)
        reader = ReplyReader(kwargs.get("tools") or ())
        chunks = []
        payload = self._get_request_payload([], stop=stop, **kwargs)
        is_chat = "messages" in payload  # otherwise OpenAI's newer Responses API
        if is_chat:
            if wire_forms is None:
                wire_forms = new_wire_forms(rules)
                messages = ValidMessages(rules.server).of(messages)
            # the messages come first, for the prompt cache
            wire = [*wire_forms.list_values(messages)] or [b""]
            wire[0] = b'{"messages":[' + wire[0]
            wire[-1] += b"]"
            wire.append(encode(_adapt(payload, rules.server))[1:])
            source = self._chat(reader, b",".join(wire))
        else:
            request = drop_foreign_reasoning(messages, rules.origin)
            source = cast(Chunks, super()._astream(request, stop, **kwargs))
        async with aclosing(source) as stream:
            async for chunk in stream:
                if run_manager is not None:
                    chunk.message.id = f"lc_run--{run_manager.run_id}"
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                chunks.append(chunk)
        if not is_chat:
            return generate_from_stream(iter(chunks))
        message = reader.message()
        message.id = chunks[-1].message.id
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _generate_patched(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: AsyncCallbackManagerForLLMRun | None,
        **kwargs: Any,
    ) -> ChatResult:
        """Return the reply of a client whose methods the caller has replaced."""
        if callable(self.openai_api_key):  # otherwise set when the SDK sends a request
            self.root_async_client.api_key = await cast(Any, self.openai_api_key())
        result = await super()._agenerate(messages, stop, run_manager, **kwargs)
        for generation in result.generations:
            generation.message.response_metadata |= generation.generation_info or {}
        return result

    def _is_patched(self) -> bool:
        """Return whether a program has replaced a method of the SDK that sends requests.

        It may answer the requests itself, and reads them in the SDK's own form, unstreamed.
        """
        for method in (self.root_async_client.request, self.async_client.create):
            function = getattr(method, "__func__", method)
            module = getattr(function, "__globals__", {}).get("__name__", "")
            if module.partition(".")[0] != "openai":
                return True
        return False

    async def _chat(self, reader: ReplyReader, body: bytes) -> Chunks:
        """Yield the chunks of a reply in the chat completions protocol.

        Raises:
            ConnectionError: the stream ended before the reply was complete.
            ReplyFaultError: the reply is complete and has no choices.
        """
        progress_at = time.monotonic()
        async with aclosing(self._chunks(reader, body)) as chunks:
            while not reader.is_over:
                patience = progress_at + (self.stream_chunk_timeout or inf) - time.monotonic()
                chunk = await self._next_chunk(reader, chunks, patience)
                if chunk is _END:
                    break
                if (message := reader.feed(chunk)) is not None:
                    progress_at = time.monotonic()
                    yield ChatGenerationChunk(message=message)
        if not (reader.is_complete or reader.is_over):
            raise ConnectionError("the stream ended before the reply was complete")
        if not reader.has_begun:
            raise ReplyFaultError("without choices")
        yield ChatGenerationChunk(message=reader.end())

    async def _next_chunk(
        self, reader: ReplyReader, chunks: AsyncGenerator[Any], patience: float
    ) -> Any:
        """Return the next chunk, or `_END`; a failure after the finish reason counts as the end.

        `patience`: seconds for a server that is alive and adds nothing to the reply. Silence is
        limited by the HTTP client.
        """
        try:
            async with asyncio.timeout(patience):
                return await anext(chunks, _END)
        except (APIConnectionError, TimeoutError):
            if reader.is_complete:
                return _END
            raise

    async def _chunks(self, reader: ReplyReader, body: bytes) -> AsyncGenerator[Any]:
        """Yield the chunks of a reply as the server sends them; mark the reader complete."""
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
                response_body = await stream.response.aread()
                yield parse_unstreamed(response_body)
                reader.is_complete |= bool(response_body.strip())
                return
            async for chunk in stream:
                yield chunk
            reader.is_complete |= stream.decoder.is_complete

    def list_parameters(self, rules: ServerRules, **options: Any) -> dict[str, Any]:
        """Return the parameters of a request, without its messages."""
        options = {
            k: v for k, v in options.items() if k not in (SERVER_RULES, WIRE_FORMS, "config")
        }
        return _adapt(self._get_request_payload([], **options), rules)

    def _default_rules(self) -> WireRules:
        """Return the rules of the server for callers that name none."""
        return WireRules(
            find_rules(ModelSettings(model=self.model_name, base_url=self.openai_api_base))
        )


def _adapt(payload: dict[str, Any], rules: ServerRules) -> dict[str, Any]:
    """Return the parameters of a request under the names that a server accepts."""
    payload.pop("messages", None)
    name = rules.token_name
    for other in rules.token_names:
        if other in payload and other != name:
            limit = payload.pop(other)
            if name is not None:
                payload[name] = limit
    if name in payload and rules.reply_limit is not None:
        payload[name] = min(payload[name], rules.reply_limit)
    if not rules.temperature_with_reasoning and payload.get("reasoning_effort") != "none":
        payload.pop("temperature", None)
    payload |= {"stream": True, "stream_options": {"include_usage": True}}
    dropped = rules.dropped | ({"stream_options"} if "stream" in rules.dropped else set())
    return {name: value for name, value in payload.items() if name not in dropped}


class FastChatOpenAI(FastChat, ChatOpenAI):
    """ChatOpenAI without the per-call cost that grows with the history."""


def build(settings: ModelSettings, name: str, values: dict[str, Any]) -> FastChatOpenAI:
    """Return the client of a compatible server; `values` are arguments of every client.

    Raises:
        SettingsError: there is neither a key nor an address.
    """
    if settings.api_key is None and settings.base_url is None:
        raise SettingsError(NOT_CONFIGURED)
    # the client needs a key, even for a local server without one
    key = settings.api_key.get_secret_value() if settings.api_key else "none"
    values |= {"api_key": asynchronous_key(key), "model": name}
    if settings.base_url is not None:
        # compatible servers support chat completions, whatever the model is called
        values["use_responses_api"] = False
    return FastChatOpenAI(**values)


def parse_unstreamed(body: bytes) -> Any:
    """Return the reply of a server that does not stream.

    Raises:
        ValueError: the body contains no reply; the argument is the server's error, if there is one.
    """
    if not body.strip():
        return {}
    reply = json.loads(body)
    if not isinstance(reply, dict) or (
        reply and not {"choices", "error", "message"} & reply.keys()
    ):
        raise ValueError("the body contains no reply")
    if isinstance(reply.get("error"), str):  # usually for a path that does not exist
        raise ValueError(reply["error"])
    return reply
