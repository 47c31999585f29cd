"""One request to one endpoint: in its dialect, with tools called natively or told of in words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from manus.models.blocks import as_text
from manus.models.compatible import SEND_REASONING
from manus.models.cut_off import with_cut_off_calls
from manus.models.dialects import from_provider, to_provider
from manus.models.extras import EXTRAS, with_tools
from manus.models.lessons import lessons
from manus.models.malformed import with_malformed
from manus.models.origins import Back, own_thoughts, with_origin, with_words_sent
from manus.models.prompted_tools import has_no_tools, in_words, prompted, with_prompted_calls
from manus.models.repair import with_repairs
from manus.models.sealed import drop_sealed
from manus.models.stream_listener import heard
from manus.models.thought_errors import (
    misses_signature,
    misses_thoughts,
    refuses_signature,
    refuses_thoughts,
)
from manus.models.thoughts import without_thought
from manus.state.messages import calls_of
from manus.state.model_settings import ModelSettings, provider_of
from manus.state.sanitize import sanitize_all

log = logging.getLogger("manus")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, whichever endpoint it is asked of."""

    request: Sequence[BaseMessage]
    tools: list[dict[str, Any]] | None
    """In OpenAI's form."""
    tool_choice: str
    quiet: bool
    """Whether the reply is kept from those who watch the tokens."""

    def extra(self) -> dict[str, Any]:
        """More arguments for the model's call."""
        config = heard()
        if self.quiet:
            config["tags"] = [TAG_NOSTREAM]
        return {"config": config} if config else {}


async def ask_endpoint(
    model: BaseChatModel, endpoint: ModelSettings, question: Question
) -> AIMessage:
    """The reply of an endpoint, with its calls read and repaired.

    Where the server says that its model has no tools, they are told of in words from then on; where
    it wants back what the model thought, it gets it; where it refuses that, it is left out.
    """
    manner = _Manner(lessons.is_prompted(endpoint), lessons.back_to(endpoint))
    while True:  # each refusal is answered once
        try:
            reply = await _asked(model, endpoint, question, manner)
            return with_words_sent(reply) if manner.back.text else reply
        except Exception as error:
            taught = _taught(error, endpoint, question, manner)
            if taught is None:
                raise
        manner = taught


@dataclass(frozen=True, slots=True)
class _Manner:
    """How an endpoint is asked."""

    in_words: bool
    """Tools are told of in words."""
    back: Back
    """How what the model thought goes back with the history."""


def _taught(
    error: Exception, endpoint: ModelSettings, question: Question, manner: _Manner
) -> _Manner | None:
    """How the endpoint wants to be asked, if its refusal tells; that is remembered."""
    by_itself = question.tools and endpoint.tool_calling == "auto" and not manner.in_words
    if by_itself and has_no_tools(error):
        log.info("the model has no tools; they are described to it in words")
        lessons.learn(endpoint, "no tools")
        return replace(manner, in_words=True)
    back = _taught_of_thoughts(error, endpoint, manner.back)
    return None if back is None else replace(manner, back=back)


def _taught_of_thoughts(error: Exception, endpoint: ModelSettings, back: Back) -> Back | None:
    chosen = endpoint.send_reasoning
    if chosen is None and not back.text and misses_thoughts(error):
        log.info("the server wants back what its model thought; it is sent from now on")
        lessons.learn(endpoint, "wants thoughts")
        return back._replace(text=True)
    by_us = chosen is not False and provider_of(endpoint.model) not in EXTRAS
    if by_us and not back.excused and misses_signature(error):
        log.info("the server wants a signature of each call; those without one say so from now on")
        lessons.learn(endpoint, "wants excuses")
        return back._replace(excused=True)
    if chosen is None and back.sealed and refuses_thoughts(error):
        if of_their_kind := not refuses_signature(error):
            lessons.learn(endpoint, "refuses sealed")
        always = " from now on" if of_their_kind else ""
        log.info("the server refuses what was signed or encrypted; it is left out%s", always)
        return back._replace(sealed=False)
    return None


async def _asked(
    model: BaseChatModel, endpoint: ModelSettings, question: Question, manner: _Manner
) -> AIMessage:
    if question.tools and manner.in_words:
        return await _in_words(model, endpoint, question)
    return await _native(model, endpoint, question, manner)


async def _native(
    model: BaseChatModel, endpoint: ModelSettings, question: Question, manner: _Manner
) -> AIMessage:
    provider = provider_of(endpoint.model)
    tools, required = question.tools, question.tool_choice == "required"
    extra, asked = question.extra(), cast(Runnable[Any, Any], model)
    if provider not in EXTRAS:
        extra[SEND_REASONING] = manner.back
    if tools and provider in EXTRAS:
        asked = with_tools(model, tools, required=required)
    elif tools:
        extra["tools"] = tools
        if required:
            extra["tool_choice"] = "required"
    # without tools in it a request may still have calls in its history
    request = in_words(question.request) if manner.in_words else question.request
    name = str(getattr(model, "model_id", ""))  # Bedrock's
    if provider in EXTRAS:
        request = own_thoughts(request, manner.back)
    request = to_provider(request, provider, with_tools=bool(tools), model=name)
    reply = from_provider(as_text(await asked.ainvoke(request, **extra)), provider)
    whole = with_cut_off_calls(with_malformed(without_thought(reply)), provider)
    return _storable(with_origin(with_repairs(whole, tools or ()), endpoint))


async def _in_words(model: BaseChatModel, endpoint: ModelSettings, question: Question) -> AIMessage:
    from manus.models.prompted_model import PromptedModel

    tools = question.tools or []
    asked = PromptedModel(inner=model)
    reply = await asked.ainvoke(prompted(question.request, tools), **question.extra())
    plain = from_provider(as_text(reply), provider_of(endpoint.model))
    drop_sealed(plain)  # it would go back with calls, and there are none
    return _storable(with_origin(with_repairs(with_prompted_calls(plain), tools), endpoint))


def _storable(message: AIMessage) -> AIMessage:
    message.content = sanitize_all(message.content)
    message.additional_kwargs = sanitize_all(message.additional_kwargs)
    for call in calls_of(message):
        call.update(sanitize_all(call))
    return message
