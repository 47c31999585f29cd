"""Send one request to one endpoint: in its dialect, with native tool calls or described tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from manus.config.model_settings import ModelSettings
from manus.models.prompted import as_plain_text, list_blocks, prompt_with_tools, with_text_calls
from manus.models.provider_packages import OTHER, ProviderPackage, find_package
from manus.models.reasoning import (
    drop_foreign_reasoning,
    has_reasoning,
    separate_reasoning,
    with_origin,
)
from manus.models.tokens import RequestSizes
from manus.models.tool_calls import with_cut_off_calls, with_repairs
from manus.models.tool_schemas import adapt_tools, refuses_open_objects
from manus.models.wire_forms import (
    SEND_REASONING,
    WIRE_FORMS,
    ReasoningPolicy,
    WireForms,
    new_wire_forms,
    select_reasoning_policy,
)
from manus.models.wrapped import chat_model_in, chat_models_in, with_tools
from manus.state.messages import (
    PerHistory,
    get_finish_reason,
    get_text,
    has_calls,
    has_image,
    is_ephemeral,
    is_image,
    list_calls,
)
from manus.state.text import sanitize_all

_OWN_PACKAGE = "manus."


class RequestCache:
    """Per-message values, computed once, of requests that extend one another."""

    def __init__(self) -> None:
        self.sizes = RequestSizes()
        self.images = PerHistory(has_image)
        """Whether each message has an image."""
        self._wire_forms: dict[ReasoningPolicy, WireForms] = {}

    def find_wire_forms(self, policy: ReasoningPolicy) -> WireForms:
        """Return the messages encoded under a policy."""
        if policy not in self._wire_forms:
            self._wire_forms[policy] = new_wire_forms(policy)
        return self._wire_forms[policy]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model, independent of the endpoint that it is sent to."""

    role: str
    messages: Sequence[BaseMessage]
    tools: list[dict[str, Any]] | None
    """In OpenAI's form."""
    tool_choice: Any
    """`auto`, `required`, `none`, or a choice in the provider's form."""
    quiet: bool
    """Whether the reply is kept out of the token stream."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Additional keyword arguments for the chat model."""
    cache: RequestCache = field(default_factory=RequestCache)
    """Shared with the requests that this one extends."""

    @property
    def estimate(self) -> float:
        """Return the estimated number of tokens."""
        return self.cache.sizes.estimate(self.messages, self.tools)

    @property
    def has_images(self) -> bool:
        """Return whether any message has an image."""
        return any(self.cache.images.list_values(self.messages))


IS_SYNC = ContextVar("manus_is_sync", default=False)
"""Whether a run has its own event loop, which ends with the call that started the run."""


async def ask_endpoint(
    model: Runnable[Any, Any],
    endpoint: ModelSettings,
    request: ModelRequest,
    *,
    is_caller_model: bool = False,
) -> AIMessage:
    """Return the reply of an endpoint, with its calls parsed and repaired."""
    package = None
    if not type(model).__module__.startswith(_OWN_PACKAGE):
        package = package_for(model)
    if refuses_open_objects(endpoint):
        request = replace(request, tools=adapt_tools(request.tools, endpoint))
    is_native = endpoint.tool_calling != "prompted"
    chat_model = model
    if is_native and package is not None and request.tools:
        model_with_tools = _bind_tools(model, request)
        is_native = model_with_tools is not None
        chat_model = model_with_tools or model
    has_prompted_tools = not is_native and bool(request.tools)
    messages = list(request.messages)
    if has_prompted_tools:
        messages = prompt_with_tools(messages, request.tools or [])
    elif not is_native:
        messages = as_plain_text(messages)
    options: dict[str, Any] = dict(request.options)
    if request.quiet or has_prompted_tools:  # calls in the text are not meant for viewers
        options["config"] = {"tags": [TAG_NOSTREAM]}
    if package is None:
        options |= _client_options(endpoint, request, is_native=is_native)
    else:
        has_tools = is_native and bool(request.tools)
        messages = drop_foreign_reasoning(messages, select_reasoning_policy(endpoint).origin)
        inner_model = chat_model_in(model)
        messages = adapt_to_package(messages, package, with_tools=has_tools, model=inner_model)
    if is_caller_model and IS_SYNC.get():
        # the caller's client outlives this loop, and would keep connections of it
        reply = await asyncio.to_thread(chat_model.invoke, messages, **options)
    else:
        reply = await chat_model.ainvoke(messages, **options)
    reply = _normalize_reply(reply, package)
    if request.tools:
        reply = with_text_calls(reply, request.tools, is_prompted=has_prompted_tools)
    if reply.invalid_tool_calls:
        reply = with_repairs(reply)
    return _sanitize_message(with_origin(reply, endpoint))


def _bind_tools(model: Runnable[Any, Any], request: ModelRequest) -> Runnable[Any, Any] | None:
    """Return the model with its tools bound; None if the chat model cannot bind tools.

    In that case they are described in the prompt.
    """
    choice = {}
    if request.tool_choice == "required":
        choice["tool_choice"] = "any"
    elif request.tool_choice not in ("auto", "none"):
        choice["tool_choice"] = request.tool_choice
    try:
        return with_tools(model, request.tools or [], **choice)
    except NotImplementedError:
        return None


def _client_options(
    endpoint: ModelSettings, request: ModelRequest, *, is_native: bool
) -> dict[str, Any]:
    """Return the keyword arguments for a call of this project's own client."""
    policy = select_reasoning_policy(endpoint)
    options: dict[str, Any] = {
        SEND_REASONING: policy,
        WIRE_FORMS: request.cache.find_wire_forms(policy),
    }
    if is_native and request.tools:
        options["tools"] = request.tools
        if request.tool_choice != "auto":
            options["tool_choice"] = _to_wire(request.tool_choice)
    return options


def _to_wire(tool_choice: Any) -> Any:
    """Return a tool choice in OpenAI's form; LangChain's is `any`, or the name of a tool."""
    if tool_choice in ("any", True):
        return "required"
    if not isinstance(tool_choice, str) or tool_choice in ("none", "required"):
        return tool_choice
    return {"type": "function", "function": {"name": tool_choice}}


def _normalize_reply(reply: AIMessage, package: ProviderPackage | None) -> AIMessage:
    """Return the reply with its thoughts separated and truncated calls malformed."""
    if package is not None:
        _normalize_package_reply(reply)
    reply = separate_reasoning(reply)
    reports_end = package is None or package.reports_end
    return with_cut_off_calls(reply, has_raw_calls=package is None, reports_end=reports_end)


def _normalize_package_reply(reply: AIMessage) -> None:
    """Store the finish reason under one name, and blocks without a thought as text."""
    reason = get_finish_reason(reply)
    if reason:
        reply.response_metadata.setdefault("finish_reason", reason)
    # Google's package repeats one of the calls there, and sends it again
    reply.additional_kwargs.pop("function_call", None)
    if isinstance(reply.content, list) and not has_reasoning(reply):
        reply.content = reply.text


def package_for(model: Runnable[Any, Any]) -> ProviderPackage | None:
    """Return the package of a chat model; None for this project's own classes.

    For fallbacks from several packages, return what all of them accept.
    """
    models = chat_models_in(model)
    if type(models[0]).__module__.startswith(_OWN_PACKAGE):
        return None
    packages = [find_package(chat_model) for chat_model in models]
    if len({package.package for package in packages}) == 1:
        return packages[0]
    return replace(OTHER, wants_tools=any(package.wants_tools for package in packages))


def _sanitize_message(message: AIMessage) -> AIMessage:
    """Remove from a message what a checkpoint cannot store."""
    message.content = sanitize_all(message.content)
    message.additional_kwargs = sanitize_all(message.additional_kwargs)
    for call in list_calls(message):
        call.update(sanitize_all(call))
    return message


def adapt_to_package(
    request: Sequence[BaseMessage],
    package: ProviderPackage,
    *,
    with_tools: bool,
    model: Any = None,
) -> list[BaseMessage]:
    """Return the request as a provider's package needs it; leave its messages unchanged."""
    if not with_tools and package.wants_tools and any(map(has_calls, request)):
        request = as_plain_text(request)  # calls are refused where no tools are offered
    messages = [_with_object_arguments(message) for message in request]
    return with_cache_marks(messages, package, str(getattr(model, "model_id", "")))


def _with_object_arguments(message: BaseMessage) -> BaseMessage:
    """Return the message with an object as the arguments of each malformed call.

    Its tool messages need a call to answer.
    """
    if not isinstance(message, AIMessage) or not message.invalid_tool_calls:
        return message
    calls: list[ToolCall] = []
    for call in list_calls(message):
        arguments = call["args"]
        if not isinstance(arguments, dict):
            arguments = {"malformed_arguments": arguments}
        calls.append(ToolCall(id=call["id"], name=call["name"] or "", args=arguments))
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})


def with_cache_marks(
    request: Sequence[BaseMessage], package: ProviderPackage, model: str = ""
) -> list[BaseMessage]:
    """Return the request with prompt-cache marks, if the provider needs any.

    Two marks: one after the system prompt (and the tools, which come before it), valid for all runs
    of a profile; one after the history, which moves with it. The last message of a request is new
    at each step and is not cached.
    """
    messages = [*request]
    if package.mark is None or not package.marked.search(model):
        return messages
    indexes = [
        index
        for index, message in enumerate(messages)
        if _can_carry_mark(message) and not is_ephemeral(message)
    ]
    for index in {*indexes[:1], *indexes[-1:]}:
        messages[index] = _with_mark(messages[index], package.mark)
    return messages


def _with_mark(message: BaseMessage, mark: dict[str, Any]) -> BaseMessage:
    """Return the message with a mark in its last block, or in a separate block after it."""
    *before, last = list_blocks(message.content)
    content = [*before, last, mark]
    if "cache_control" in mark:
        content = [*before, {**last, **mark}]
    return message.model_copy(update={"content": content})


def _can_carry_mark(message: BaseMessage) -> bool:
    """Return whether a message has text and ends in a block that can carry a mark."""
    if not get_text(message).strip():
        return False
    last = list_blocks(message.content)[-1]
    return is_image(last) or (isinstance(last, dict) and last.get("type") == "text")
