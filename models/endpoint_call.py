"""One request to one endpoint: in its dialect, with tools called natively or told of in words."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from manus.models.prompted import blocks_of, in_words, prompted, with_prompted_calls
from manus.models.providers import EXTRAS, OTHER, Extra
from manus.models.reasoning import has_thoughts, own_thoughts, with_origin, without_thought
from manus.models.tool_calls import with_cut_off_calls, with_repairs
from manus.models.wire_forms import SEND_REASONING, back_to
from manus.state.messages import calls_of, has_calls, is_ephemeral, is_image, reason_of, text_of
from manus.state.model_settings import ModelSettings
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
    model: BaseChatModel, endpoint: ModelSettings, question: Question, *, is_given: bool = False
) -> AIMessage:
    """The reply of an endpoint, with its calls read and repaired."""
    tools, extra = question.tools, extra_of(model)
    is_prompted = endpoint.tool_calling == "prompted"
    request, is_quiet = question.request, question.quiet
    if is_prompted:
        request = prompted(request, tools) if tools else in_words(request)
        is_quiet |= bool(tools)  # its calls stand in its text
    offered = None if is_prompted else tools
    asked, options = cast(Runnable[Any, Any], model), dict[str, Any]()
    if is_quiet:
        options["config"] = {"tags": [TAG_NOSTREAM]}
    is_required = bool(offered) and question.tool_choice == "required"
    if extra is None:
        options[SEND_REASONING] = back_to(endpoint)
        if offered:
            options["tools"] = offered
        if is_required:
            options["tool_choice"] = "required"
    else:
        own = own_thoughts(request, back_to(endpoint).origin)
        request = to_extra(own, extra, with_tools=bool(offered), model=model)
        if offered:
            # a copy: packages take schemas apart in place, and these are every later request's
            choice = {"tool_choice": "any"} if is_required else {}
            asked = model.bind_tools(copy.deepcopy(offered), **choice)
    if is_given and IS_SYNC.get():
        # the caller's client outlives this loop, and would keep connections of it
        reply = await asyncio.to_thread(asked.invoke, list(request), **options)
    else:
        reply = await asked.ainvoke(list(request), **options)
    read = _as_read(reply, extra, in_words=is_prompted and bool(tools))
    return _storable(with_origin(read, endpoint))


def _as_read(reply: AIMessage, extra: Extra | None, *, in_words: bool) -> AIMessage:
    """The reply with its thoughts apart and its calls as they are meant."""
    if extra is not None:  # why it ended comes under one name, blocks without a thought as a text
        if reason := reason_of(reply):
            reply.response_metadata.setdefault("finish_reason", reason)
        # Google's package says one of the calls again there, and sends it again
        reply.additional_kwargs.pop("function_call", None)
        if isinstance(reply.content, list) and not has_thoughts(reply):
            reply.content = reply.text
    reply = without_thought(reply)
    if in_words:
        return with_repairs(with_prompted_calls(reply))
    return with_repairs(with_cut_off_calls(reply, as_it_came=extra is None))


def extra_of(model: BaseChatModel) -> Extra | None:
    """What the package of a chat model wants; None for the classes of our own."""
    module = type(model).__module__
    if module.startswith("manus."):
        return None
    return next((e for e in EXTRAS.values() if module.startswith(e.module)), OTHER)


def _storable(message: AIMessage) -> AIMessage:
    message.content = sanitize_all(message.content)
    message.additional_kwargs = sanitize_all(message.additional_kwargs)
    for call in calls_of(message):
        call.update(sanitize_all(call))
    return message


def to_extra(
    request: Sequence[BaseMessage], extra: Extra, *, with_tools: bool, model: Any = None
) -> list[BaseMessage]:
    """The request as the package of an extra wants it; its messages stay as they are."""
    if not with_tools and extra.wants_tools and any(map(has_calls, request)):
        request = in_words(request)  # calls are refused where no tools are offered
    made = [_with_whole_calls(message) for message in request]
    return with_cache_marks(made, extra, str(getattr(model, "model_id", "")))


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
    request: Sequence[BaseMessage], extra: Extra, model: str = ""
) -> list[BaseMessage]:
    """The request with marks where a provider is told to cache; itself for one that wants none.

    Two marks: one after the system prompt (and the tools, which come before it), which holds for
    all runs of a profile; one after the history, which moves on with it. The last message of a
    request is made anew at each step and stays outside.
    """
    made = [*request]
    if extra.mark is None or not extra.marked.search(model):
        return made
    fit = [i for i, m in enumerate(made) if _takes_mark(m) and not is_ephemeral(m)]
    for place in {*fit[:1], *fit[-1:]}:
        *before, last = blocks_of(made[place].content)
        # a block of its own, or part of the last one
        marked = [{**last, **extra.mark}] if "cache_control" in extra.mark else [last, extra.mark]
        made[place] = made[place].model_copy(update={"content": [*before, *marked]})
    return made


def _takes_mark(message: BaseMessage) -> bool:
    """Whether a message has words, and ends in them or an image: what else is may not be marked."""
    last = blocks_of(message.content)[-1] if text_of(message).strip() else None
    return is_image(last) or (isinstance(last, dict) and last.get("type") == "text")
