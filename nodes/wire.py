"""ChatOpenAI without the cost that grows with the history.

The openai SDK walks every message of a request to transform typed parameters and encodes all of
them anew, on each call: most of an agent's own time in a long run. Here each message is brought
into its wire form once, and a request is those forms joined.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import AsyncIterator
from typing import Any, cast

import httpx2
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_openai.chat_models._compat import _convert_from_v1_to_chat_completions
from langchain_openai.chat_models.base import (
    BaseChatOpenAI,
    ChatOpenAI,
    _convert_message_to_dict,
    _create_usage_metadata,
)

from nodes.chunks import AsDicts, Chunks
from nodes.compatible import SEND_REASONING, mend_reply, reasoning_of, take_calls_apart
from nodes.malformed import told_apart
from nodes.replies import CUT_OFF
from nodes.thoughts import REASONING
from state.messages import calls_of
from state.watched import is_watched

_OPENAI_REASONERS = ("gpt-5", "o1", "o3", "o4")
_FOR_TRACES = {"ls_structured_output_format", "structured_output_format"}
"""Arguments that the base takes out again, having told whoever listens."""
IMAGE_FOLLOWS = "[The image follows in the next message.]"


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8; half surrogate pairs, which UTF-8 has no bytes for, escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


class WireForm:
    """A message as the chat completions protocol has it, and its JSON."""

    __slots__ = ("encoded", "form")

    def __init__(self, form: dict[str, Any]) -> None:
        self.form = form
        self.encoded = encode(form)


class WireForms:
    """The wire form of each message, kept as long as the message lives."""

    def __init__(self, *, send_reasoning: bool = False) -> None:
        self._send_reasoning = send_reasoning
        self._forms: dict[int, tuple[weakref.ref[BaseMessage], WireForm]] = {}

    def of(self, message: BaseMessage) -> WireForm:
        """The wire form of a message; the same object each time."""
        key = id(message)
        known = self._forms.get(key)
        if known is not None and known[0]() is message:
            return known[1]
        plain = wire_form(message)
        if self._send_reasoning and isinstance(message, AIMessage):
            # those who want it want it of every message, also where there was none
            plain[REASONING] = message.additional_kwargs.get(REASONING) or ""
        form = WireForm(plain)
        self._forms[key] = (weakref.ref(message, lambda _: self._forms.pop(key, None)), form)
        return form


def wire_form(message: BaseMessage) -> dict[str, Any]:
    """A message as the chat completions protocol has it.

    Arguments that are not JSON are wrapped: several servers parse them again when they fill in
    their prompt template, and refuse the whole history for one malformed call.
    """
    if isinstance(message, AIMessage):
        message = _convert_from_v1_to_chat_completions(message)
    form: dict[str, Any] = _convert_message_to_dict(message)
    if isinstance(message, AIMessage) and message.invalid_tool_calls:
        for call in form["tool_calls"][len(message.tool_calls) :]:
            raw = call["function"]["arguments"]
            call["function"]["arguments"] = json.dumps({"malformed_arguments": raw})
        kinds = [*message.tool_calls, *message.invalid_tool_calls]
        places = [next(i for i, c in enumerate(kinds) if c is call) for call in calls_of(message)]
        form["tool_calls"] = [form["tool_calls"][place] for place in places]
    if isinstance(message, ToolMessage) and isinstance(message.content, list):
        form["content"] = f"{message.text}\n{IMAGE_FOLLOWS}"
    return form


def image_message(batch: list[ToolMessage]) -> dict[str, Any] | None:
    """The images of a batch of tool messages as a user message, which is where they may stand."""
    images = [
        block
        for message in batch
        if isinstance(message.content, list)
        for block in message.content
        if isinstance(block, dict) and block.get("type") == "image_url"
    ]
    return {"role": "user", "content": images} if images else None


def wire_messages(messages: list[BaseMessage], forms: WireForms) -> list[WireForm]:
    """A request's messages on the wire; images of tool messages follow their batch."""
    wire: list[WireForm] = []
    batch: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            batch.append(message)
        elif batch:
            _add_images(wire, batch)
        wire.append(forms.of(message))
    _add_images(wire, batch)
    return wire


def _add_images(wire: list[WireForm], batch: list[ToolMessage]) -> None:
    images = image_message(batch)
    if images is not None:
        wire.append(WireForm(images))
    batch.clear()


class Lean(BaseChatOpenAI):
    """A client of OpenAI's that hands the SDK a body it has neither to walk nor to encode."""

    def model_post_init(self, context: Any, /) -> None:
        """Make room for the wire forms, which are no field of the model."""
        super().model_post_init(context)
        self._forms = {kept: WireForms(send_reasoning=kept) for kept in (False, True)}
        self._chunks: Chunks | None = None

    def _parts(self, input_: LanguageModelInput, **kwargs: Any) -> tuple[Any, list[WireForm]]:
        messages = self._convert_input(input_).to_messages()
        forms = self._forms[bool(kwargs.pop(SEND_REASONING, False))]
        payload = super()._get_request_payload([], **kwargs)
        payload.pop("messages")
        if self.openai_api_base and not self._is_openais_reasoner():
            # what servers beside OpenAI's reasoning models know it by; some refuse the newer name
            _rename(payload, "max_completion_tokens", "max_tokens")
        return payload, wire_messages(messages, forms)

    def _is_openais_reasoner(self) -> bool:
        name = self.model_name.rpartition("/")[2].lower()
        return name.startswith(_OPENAI_REASONERS)

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        if self._use_responses_api({**self._default_params, **kwargs}):
            kwargs.pop(SEND_REASONING, None)
            return super()._get_request_payload(input_, stop=stop, **kwargs)
        payload, wire = self._parts(input_, stop=stop, **kwargs)
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
        messages = self._convert_input(input).to_messages()
        result = await self._agenerate_with_cache(messages, stop=stop, **kwargs)
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
            kwargs.pop(SEND_REASONING, None)
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
        apart = take_calls_apart(said)
        result = self._create_chat_result(said)
        kept = result.generations[0].message.additional_kwargs
        kept.update(apart)
        if thought := reasoning_of(said["choices"][0].get("message")):
            kept[REASONING] = thought
        return result

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        raw: dict[Any, dict[str, Any]] = {}
        begun = ended = False
        one = self.model_copy()  # what is known of a stream belongs to that stream alone
        one._chunks = chunks = Chunks()
        one.async_client = AsDicts(self.async_client)
        async for part in super(Lean, one)._astream(*args, **kwargs):
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
