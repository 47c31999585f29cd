"""One request to one endpoint: in its dialect, with tools called natively or told of in words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from manus.config.model_settings import ModelSettings
from manus.models.prompted import blocks_of, in_words, prompted, with_prompted_calls
from manus.models.provider_packages import OTHER, ProviderPackage, package_of
from manus.models.reasoning import has_thoughts, own_thoughts, with_origin, without_thought
from manus.models.tool_calls import with_cut_off_calls, with_repairs
from manus.models.wire_forms import SEND_REASONING, back_to
from manus.models.wrapped import chat_model_in, chat_models_in, with_tools
from manus.state.messages import calls_of, has_calls, is_ephemeral, is_image, reason_of, text_of
from manus.state.text import sanitize_all


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, whichever endpoint it is asked of."""

    role: str
    request: Sequence[BaseMessage]
    tools: list[dict[str, Any]] | None
    """In OpenAI's form."""
    tool_choice: str
    quiet: bool
    """Whether the reply is kept from those who watch the tokens."""


IS_SYNC = ContextVar("manus_is_sync", default=False)
"""Whether a run is in a loop of its own, which ends with the call that began it."""


async def ask_endpoint(
    model: Runnable[Any, Any],
    endpoint: ModelSettings,
    question: Question,
    *,
    is_given: bool = False,
) -> AIMessage:
    """Return the reply of an endpoint, with its calls read and repaired."""
    package = package_for(model)
    asked = _with_native_tools(model, package, endpoint, question)
    in_text = asked is None and bool(question.tools)
    request = _in_dialect(model, package, endpoint, question, is_native=asked is not None)
    options: dict[str, Any] = {}
    if question.quiet or in_text:  # calls that stand in a text are not for those who watch
        options["config"] = {"tags": [TAG_NOSTREAM]}
    if package is None:
        options |= _own_options(endpoint, question, is_native=asked is not None)
    asked = model if asked is None else asked
    if is_given and IS_SYNC.get():
        # the caller's client outlives this loop, and would keep connections of it
        reply = await asyncio.to_thread(asked.invoke, request, **options)
    else:
        reply = await asked.ainvoke(request, **options)
    read = _as_read(reply, package, in_text=in_text)
    return _storable(with_origin(read, endpoint))


def _with_native_tools(
    model: Runnable[Any, Any],
    package: ProviderPackage | None,
    endpoint: ModelSettings,
    question: Question,
) -> Runnable[Any, Any] | None:
    """Return the model with its tools bound; None where these are described in the prompt.

    That is so where the settings say it, and for chat models that cannot bind any.
    """
    if endpoint.tool_calling == "prompted":
        return None
    if package is None or not question.tools:
        return model
    choice = {"tool_choice": "any"} if question.tool_choice == "required" else {}
    try:
        return with_tools(model, question.tools, **choice)
    except NotImplementedError:
        return None


def _in_dialect(
    model: Runnable[Any, Any],
    package: ProviderPackage | None,
    endpoint: ModelSettings,
    question: Question,
    *,
    is_native: bool,
) -> list[BaseMessage]:
    """Return the request as the provider takes it; in words alone where no tools are bound."""
    request = [*question.request]
    if not is_native:
        request = prompted(request, question.tools) if question.tools else in_words(request)
    if package is None:
        return request
    own = own_thoughts(request, back_to(endpoint).origin)
    with_calls = is_native and bool(question.tools)
    return to_package(own, package, with_tools=with_calls, model=chat_model_in(model))


def _own_options(endpoint: ModelSettings, question: Question, *, is_native: bool) -> dict[str, Any]:
    """Return the arguments of a call of our own client."""
    options: dict[str, Any] = {SEND_REASONING: back_to(endpoint)}
    if is_native and question.tools:
        options["tools"] = question.tools
        if question.tool_choice == "required":
            options["tool_choice"] = "required"
    return options


def _as_read(reply: AIMessage, package: ProviderPackage | None, *, in_text: bool) -> AIMessage:
    """Return the reply with its thoughts apart and its calls as they are meant."""
    if package is not None:
        # why it ended comes under one name, blocks without a thought as a text
        if reason := reason_of(reply):
            reply.response_metadata.setdefault("finish_reason", reason)
        # Google's package says one of the calls again there, and sends it again
        reply.additional_kwargs.pop("function_call", None)
        if isinstance(reply.content, list) and not has_thoughts(reply):
            reply.content = reply.text
    reply = without_thought(reply)
    if in_text:
        return with_repairs(with_prompted_calls(reply))
    reports_end = package is None or package.reports_end
    read = with_cut_off_calls(reply, as_it_came=package is None, reports_end=reports_end)
    return with_repairs(read)


def package_for(model: Runnable[Any, Any]) -> ProviderPackage | None:
    """Return what the package of a chat model wants; None for the classes of our own.

    Of fallbacks from several packages, what all of them take.
    """
    models = chat_models_in(model)
    if type(models[0]).__module__.startswith("manus."):
        return None
    packages = [package_of(each) for each in models]
    if len({package.package for package in packages}) == 1:
        return packages[0]
    return replace(OTHER, wants_tools=any(package.wants_tools for package in packages))


def _storable(message: AIMessage) -> AIMessage:
    message.content = sanitize_all(message.content)
    message.additional_kwargs = sanitize_all(message.additional_kwargs)
    for call in calls_of(message):
        call.update(sanitize_all(call))
    return message


def to_package(
    request: Sequence[BaseMessage],
    package: ProviderPackage,
    *,
    with_tools: bool,
    model: Any = None,
) -> list[BaseMessage]:
    """Return the request as a provider's package wants it; its messages stay as they are."""
    if not with_tools and package.wants_tools and any(map(has_calls, request)):
        request = in_words(request)  # calls are refused where no tools are offered
    made = [_with_whole_calls(message) for message in request]
    return with_cache_marks(made, package, str(getattr(model, "model_id", "")))


def _with_whole_calls(message: BaseMessage) -> BaseMessage:
    """A message whose malformed calls have an object for arguments: their answers need them."""
    if not isinstance(message, AIMessage) or not message.invalid_tool_calls:
        return message
    calls = [
        ToolCall(
            id=call["id"],
            name=call["name"] or "",
            args=args if isinstance(args := call["args"], dict) else {"malformed_arguments": args},
        )
        for call in calls_of(message)
    ]
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})


def with_cache_marks(
    request: Sequence[BaseMessage], package: ProviderPackage, model: str = ""
) -> list[BaseMessage]:
    """The request with marks where a provider is told to cache; itself for one that wants none.

    Two marks: one after the system prompt (and the tools, which come before it), which holds for
    all runs of a profile; one after the history, which moves on with it. The last message of a
    request is made anew at each step and stays outside.
    """
    made = [*request]
    if package.mark is None or not package.marked.search(model):
        return made
    fit = [i for i, m in enumerate(made) if _takes_mark(m) and not is_ephemeral(m)]
    for place in {*fit[:1], *fit[-1:]}:
        *before, last = blocks_of(made[place].content)
        is_part = "cache_control" in package.mark  # else it is a block of its own
        marked = [{**last, **package.mark}] if is_part else [last, package.mark]
        made[place] = made[place].model_copy(update={"content": [*before, *marked]})
    return made


def _takes_mark(message: BaseMessage) -> bool:
    """Whether a message has words, and ends in them or an image: what else is may not be marked."""
    last = blocks_of(message.content)[-1] if text_of(message).strip() else None
    return is_image(last) or (isinstance(last, dict) and last.get("type") == "text")
