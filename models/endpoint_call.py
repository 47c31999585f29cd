"""One request to one endpoint: in its dialect, with tools called natively or told of in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from manus.models.dialects import from_provider, to_provider
from manus.models.extras import EXTRAS, with_tools
from manus.models.prompted import in_words, prompted, with_prompted_calls
from manus.models.providers import habits_of
from manus.models.reasoning import (
    drop_sealed,
    origin_of,
    own_thoughts,
    with_origin,
    without_thought,
)
from manus.models.tool_calls import with_cut_off_calls, with_repairs
from manus.models.wire_forms import SEND_REASONING, Back
from manus.state.messages import calls_of
from manus.state.model_settings import ModelSettings, provider_of
from manus.state.sanitize import sanitize_all


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, whichever endpoint it is asked of."""

    request: Sequence[BaseMessage]
    tools: list[dict[str, Any]] | None
    """In OpenAI's form."""
    tool_choice: str
    quiet: bool
    """Whether the reply is kept from those who watch the tokens."""


async def ask_endpoint(
    model: BaseChatModel, endpoint: ModelSettings, question: Question
) -> AIMessage:
    """The reply of an endpoint, with its calls read and repaired."""
    if question.tools and endpoint.tool_calling == "prompted":
        reply = await _in_words(model, endpoint, question, question.tools)
    else:
        reply = await _native(model, endpoint, question)
    return _storable(with_origin(with_repairs(reply, question.tools or ()), endpoint))


async def _native(model: BaseChatModel, endpoint: ModelSettings, question: Question) -> AIMessage:
    provider = provider_of(endpoint.model)
    tools, required = question.tools, question.tool_choice == "required"
    extra: dict[str, Any] = {"config": {"tags": [TAG_NOSTREAM]}} if question.quiet else {}
    request, asked = question.request, cast(Runnable[Any, Any], model)
    if endpoint.tool_calling == "prompted":
        request = in_words(request)  # without tools it may still have calls in its history
    if provider in EXTRAS:
        name = str(getattr(model, "model_id", ""))  # Bedrock's
        own = own_thoughts(request, origin_of(endpoint), send=endpoint.send_reasoning is not False)
        request = to_provider(own, provider, with_tools=bool(tools), model=name)
        if tools:
            asked = with_tools(model, tools, required=required)
    else:
        extra[SEND_REASONING] = back_to(endpoint)
        if tools:
            extra["tools"] = tools
            if required:
                extra["tool_choice"] = "required"
    reply = from_provider(await asked.ainvoke(list(request), **extra), provider)
    return with_cut_off_calls(without_thought(reply), as_it_came=provider not in EXTRAS)


async def _in_words(
    model: BaseChatModel, endpoint: ModelSettings, question: Question, tools: list[dict[str, Any]]
) -> AIMessage:
    """The reply of a model without tools. It is not streamed: its calls stand in its text."""
    quiet: Any = {"tags": [TAG_NOSTREAM]}
    reply = await model.ainvoke(prompted(question.request, tools), quiet)
    plain = from_provider(reply, provider_of(endpoint.model))
    drop_sealed(plain)  # it would go back with calls, and there are none
    return with_prompted_calls(plain)


def back_to(endpoint: ModelSettings) -> Back:
    """How what the model thought goes back to a compatible server."""
    chosen, habits = endpoint.send_reasoning, habits_of(endpoint.base_url)
    return Back(
        origin_of(endpoint),
        text=habits.wants_reasoning if chosen is None else chosen,
        as_given=chosen is True,  # one that has to be told says under which name, too
        sealed=chosen is not False,
        excused=chosen is not False and habits.wants_signatures,
    )


def _storable(message: AIMessage) -> AIMessage:
    message.content = sanitize_all(message.content)
    message.additional_kwargs = sanitize_all(message.additional_kwargs)
    for call in calls_of(message):
        call.update(sanitize_all(call))
    return message
