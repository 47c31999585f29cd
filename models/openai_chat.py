"""ChatOpenAI without the cost that grows with the history.

The openai SDK walks every message of a request to transform typed parameters and encodes all of
them anew, on each call: most of an agent's own time in a long run. Here each message is brought
into its wire form once, and a request is those forms joined.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import httpx2
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_openai.chat_models.base import (
    BaseChatOpenAI,
    ChatOpenAI,
    _create_usage_metadata,
)

from manus.models.chunks import AsDicts, Chunks
from manus.models.compatible import (
    SEND_REASONING,
    mend_reply,
    named,
    reasoning_name,
    reasoning_of,
    take_calls_apart,
)
from manus.models.malformed import told_apart
from manus.models.origins import Back, own_thoughts
from manus.models.paced import paced
from manus.models.replies import CUT_OFF
from manus.models.sealed import sealed_of
from manus.models.thoughts import REASONING
from manus.models.wire_forms import WireForm, WireForms, encode, wire_messages
from manus.state.watched import is_watched

_OPENAI_REASONERS = ("gpt-5", "o1", "o3", "o4")
_FOR_TRACES = {"ls_structured_output_format", "structured_output_format"}
"""Arguments that the base takes out again, having told whoever listens."""


class Lean(BaseChatOpenAI):
    """A client of OpenAI's that hands the SDK a body it has neither to walk nor to encode."""

    def model_post_init(self, context: Any, /) -> None:
        """Make room for the wire forms, which are no field of the model."""
        super().model_post_init(context)
        self._forms: dict[Back, WireForms] = {}
        self._chunks: Chunks | None = None

    def _parts(self, messages: list[BaseMessage], **kwargs: Any) -> tuple[Any, list[WireForm]]:
        back = kwargs.pop(SEND_REASONING, None) or Back()
        forms = self._forms.setdefault(back, WireForms(back))
        payload = super()._get_request_payload([], **kwargs)
        payload.pop("messages")
        if self.openai_api_base and not self._is_openais_reasoner():
            # what servers beside OpenAI's reasoning models know it by; some refuse the newer name
            _rename(payload, "max_completion_tokens", "max_tokens")
        if self._is_openais_reasoner("chat") and payload.get("reasoning_effort") != "none":
            payload.pop("temperature", None)  # they refuse one
        return payload, wire_messages(messages, forms)

    def _messages(self, given: LanguageModelInput) -> list[BaseMessage]:
        if isinstance(given, list) and all(isinstance(item, BaseMessage) for item in given):
            return cast(list[BaseMessage], given)
        return self._convert_input(given).to_messages()

    def _is_openais_reasoner(self, *but: str) -> bool:
        name = (self.model_name or "").rpartition("/")[2].lower()
        return name.startswith(_OPENAI_REASONERS) and not any(part in name for part in but)

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        if self._use_responses_api({**self._default_params, **kwargs}):
            back = kwargs.pop(SEND_REASONING, None)
            own = input_ if back is None else own_thoughts(self._messages(input_), back)
            return super()._get_request_payload(own, stop=stop, **kwargs)
        payload, wire = self._parts(self._messages(input_), stop=stop, **kwargs)
        extra = dict(payload.get("extra_body") or {})
        extra["messages"] = [message.form for message in wire]
        if "tools" in payload:
            extra["tools"] = payload.pop("tools")
        # the SDK wants `messages` to be there; `extra_body` is merged over it without a walk
        return {**payload, "messages": [], "extra_body": extra}

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002 - the name is LangChain's
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """As the base; without its callbacks, and its copies for them, where nobody listens."""
        chosen = ensure_config(config)
        if is_watched(chosen) or self.callbacks or _FOR_TRACES & kwargs.keys():
            return await super().ainvoke(input, config, stop=stop, **kwargs)
        result = await self._agenerate_with_cache(self._messages(input), stop=stop, **kwargs)
        return cast(AIMessage, result.generations[0].message)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        by_responses = self._use_responses_api({**self._default_params, **kwargs})
        if by_responses or "response_format" in kwargs:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        payload, wire = self._parts(messages, stop=stop, **kwargs)
        payload.pop("stream", None)
        answer = await self.root_async_client.post(
            "/chat/completions",
            cast_to=httpx2.Response,
            content=body_of(payload, wire),
            options={"headers": {"Content-Type": "application/json"}},
        )
        said = mend_reply(answer.json())
        beside = _beside(said)
        apart = take_calls_apart(said)
        result = self._create_chat_result(said)
        kept = result.generations[0].message.additional_kwargs
        kept.update(beside | apart)
        if thought := reasoning_of(said["choices"][0].get("message")):
            kept[REASONING] = thought
        return result

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        raw: dict[Any, dict[str, Any]] = {}
        begun = ended = False
        one = self.model_copy()  # what is known of a stream belongs to that stream alone
        one._chunks = chunks = Chunks()
        one.async_client = AsDicts(self.async_client)
        one.stream_chunk_timeout = None
        parts = paced(super(Lean, one)._astream(*args, **kwargs), self.stream_chunk_timeout)
        async with aclosing(parts):
            async for part in parts:
                if isinstance(part.message, AIMessageChunk):
                    for piece in part.message.tool_call_chunks:
                        _gather(raw, dict(piece))
                begun, ended = True, ended or _says_why_it_ended(part)
                yield part
        apart = told_apart(list(raw.values()))
        if begun and not ended:
            apart[CUT_OFF] = True
        if (last := _last(chunks, apart)) is not None:
            yield last

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], *args: Any, **kwargs: Any
    ) -> ChatGenerationChunk | None:
        chunk = chunk if self._chunks is None else self._chunks.mended(chunk)
        part = super()._convert_chunk_to_generation_chunk(chunk, *args, **kwargs)
        choices = chunk.get("choices") or ()
        thought = reasoning_of(choices[0].get("delta")) if choices else ""
        if part is not None and thought:
            part.message.additional_kwargs[REASONING] = thought
        return part


class LeanChatOpenAI(Lean, ChatOpenAI):
    """ChatOpenAI without the cost that grows with the history."""


def _beside(said: Any) -> dict[str, Any]:
    """What `additional_kwargs` of a whole reply have of thoughts beside their text."""
    try:
        message = said["choices"][0]["message"]
        return sealed_of(message) | named(reasoning_name(message))
    except (AttributeError, KeyError, IndexError, TypeError):
        return {}  # of another shape: what is wrong with it is said by whoever reads it


def _rename(payload: dict[str, Any], old: str, new: str) -> None:
    if old in payload:
        payload[new] = payload.pop(old)


def body_of(payload: dict[str, Any], wire: list[WireForm]) -> bytes:
    """The body of a request: the messages first, so that a request begins as the one before it."""
    extra = payload.pop("extra_body", None) or {}
    rest = encode({**payload, **extra})
    joined = b",".join(message.encoded for message in wire)
    return b'{"messages":[' + joined + b"]," + rest[1:]


def _last(chunks: Chunks, apart: dict[str, Any]) -> ChatGenerationChunk | None:
    """What is known only when a stream has ended."""
    thought, said = chunks.rest()
    apart |= chunks.kept()
    if thought:
        apart[REASONING] = thought
    usage = _create_usage_metadata(chunks.usage) if chunks.usage else None
    if not (apart or said or usage):
        return None
    told = AIMessageChunk(content=said, additional_kwargs=apart, usage_metadata=usage)
    return ChatGenerationChunk(message=told)


def _says_why_it_ended(part: ChatGenerationChunk) -> bool:
    info = part.generation_info or {}
    return bool(info.get("finish_reason") or part.message.response_metadata.get("finish_reason"))


def _gather(raw: dict[Any, dict[str, Any]], piece: dict[str, Any]) -> None:
    call = raw.setdefault(piece.get("index"), {"id": None, "name": None, "args": ""})
    call["id"] = call["id"] or piece.get("id")
    call["name"] = call["name"] or piece.get("name")
    call["args"] += piece.get("args") or ""
