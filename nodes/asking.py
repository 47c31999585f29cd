"""One request to one endpoint: in its dialect, with tools called natively or told of in words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from nodes.blocks import as_text
from nodes.cut_off import with_cut_off_calls
from nodes.dialects import from_provider, to_provider
from nodes.endpoints import breaker
from nodes.extras import EXTRAS, with_tools
from nodes.malformed import with_malformed
from nodes.model_errors import explain
from nodes.prompted_tools import has_no_tools, prompted, with_prompted_calls
from nodes.repair import with_repairs
from state.errors import ModelRefusedError
from state.messages import calls_of
from state.model_settings import ModelSettings, provider_of
from tools.clean import storable_all

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
        return {"config": {"tags": [TAG_NOSTREAM]}} if self.quiet else {}


async def ask_endpoint(
    model: BaseChatModel, endpoint: ModelSettings, question: Question, names: dict[str, str]
) -> AIMessage:
    """The reply of an endpoint, with its calls read and repaired.

    Where the server says that its model has no tools, they are told of in words from then on.
    """
    if not question.tools or not breaker.is_prompted(endpoint):
        try:
            return await _native(model, provider_of(endpoint.model), question)
        except Exception as error:
            if not _may_be_prompted(error, endpoint, question, names):
                raise
            log.info("the model has no tools; they are described to it in words")
            breaker.without_tools(endpoint)
    return await _in_words(model, provider_of(endpoint.model), question)


def _may_be_prompted(
    error: Exception, endpoint: ModelSettings, question: Question, names: dict[str, str]
) -> bool:
    if not question.tools or endpoint.tool_calling != "auto":
        return False
    return isinstance(explain(error, **names), ModelRefusedError) and has_no_tools(error)


async def _native(model: BaseChatModel, provider: str, question: Question) -> AIMessage:
    tools, required = question.tools, question.tool_choice == "required"
    extra, asked = question.extra(), cast(Runnable[Any, Any], model)
    if tools and provider in EXTRAS:
        asked = with_tools(model, tools, required=required)
    elif tools:
        extra["tools"] = tools
        if required:
            extra["tool_choice"] = "required"
    request = to_provider(question.request, provider, with_tools=bool(tools))
    reply = from_provider(as_text(await asked.ainvoke(request, **extra)), provider)
    whole = with_cut_off_calls(with_malformed(reply), provider)
    return _storable(with_repairs(whole, tools or ()))


async def _in_words(model: BaseChatModel, provider: str, question: Question) -> AIMessage:
    from nodes.prompted_model import PromptedModel

    tools = question.tools or []
    asked = PromptedModel(inner=model)
    reply = await asked.ainvoke(prompted(question.request, tools), **question.extra())
    plain = from_provider(as_text(reply), provider)
    return _storable(with_repairs(with_prompted_calls(plain), tools))


def _storable(message: AIMessage) -> AIMessage:
    message.content = storable_all(message.content)
    for call in calls_of(message):
        call.update(storable_all(call))
    return message
