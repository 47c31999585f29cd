"""One request to one endpoint: in its dialect, with tools called natively or told of in words."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from manus.models.dialects import from_provider, to_provider
from manus.models.prompted import in_words, prompted, with_prompted_calls
from manus.models.providers import EXTRAS, habits_of
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
    tools, is_native = question.tools, endpoint.tool_calling == "native"
    request, asked, options = _in_dialect(model, endpoint, question)
    reply: AIMessage = await asked.ainvoke(request, **options)
    is_extra = provider_of(endpoint.model) in EXTRAS
    if is_extra:
        from_provider(reply, provider_of(endpoint.model))
    if tools and not is_native:
        drop_sealed(reply)  # it would go back with calls, and there are none
        reply = with_prompted_calls(reply)
    else:
        reply = with_cut_off_calls(without_thought(reply), as_it_came=not is_extra)
    return _storable(with_origin(with_repairs(reply, tools or ()), endpoint))


def _in_dialect(
    model: BaseChatModel, endpoint: ModelSettings, question: Question
) -> tuple[list[BaseMessage], Runnable[Any, Any], dict[str, Any]]:
    """The request as the endpoint wants it, the model with its tools, and the call's options."""
    provider, request, tools = provider_of(endpoint.model), question.request, question.tools
    is_quiet, asked = question.quiet, cast(Runnable[Any, Any], model)
    if endpoint.tool_calling == "prompted":
        request = prompted(request, tools) if tools else in_words(request)
        is_quiet, tools = is_quiet or bool(tools), None  # its calls stand in its text
    options: dict[str, Any] = {"config": {"tags": [TAG_NOSTREAM]}} if is_quiet else {}
    required = question.tool_choice == "required"
    if provider in EXTRAS:
        name = str(getattr(model, "model_id", ""))  # Bedrock's
        own = own_thoughts(request, origin_of(endpoint), send=endpoint.send_reasoning is not False)
        request = to_provider(own, provider, with_tools=bool(tools), model=name)
        if tools:
            # a copy: packages take schemas apart in place, and these are every later request's
            choice = {"tool_choice": "any"} if required else {}
            asked = model.bind_tools(copy.deepcopy(tools), **choice)
    else:
        options[SEND_REASONING] = back_to(endpoint)
        if tools:
            options["tools"] = tools
            options |= {"tool_choice": "required"} if required else {}
    return list(request), asked, options


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
