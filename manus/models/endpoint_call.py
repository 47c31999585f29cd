"""Send one request to one endpoint: in its dialect, with native tool calls or described tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from manus.config.model_settings import ModelSettings
from manus.config.provider_table import OTHER, Provider
from manus.models.model_request import ModelRequest, RequestCache
from manus.models.package_messages import adapt_to_package
from manus.models.package_models import list_parameters, without_parameters
from manus.models.prompted import as_plain_text, prompt_with_tools, with_text_calls
from manus.models.providers import find_package, find_rules
from manus.models.reasoning import (
    drop_foreign_reasoning,
    has_reasoning,
    separate_reasoning,
    with_origin,
)
from manus.models.refusals import (
    MAX_CHANGES,
    WORDS,
    SentRequest,
    find_change,
    is_lasting,
    learned_words,
    remember,
)
from manus.models.server_rules import ServerRules
from manus.models.tool_calls import with_cut_off_calls, with_repairs
from manus.models.valid_messages import valid_name
from manus.models.wire_forms import (
    SERVER_RULES,
    WIRE_FORMS,
    select_wire_rules,
    wire_form,
)
from manus.models.wrapped import chat_model_in, chat_models_in, with_tools
from manus.state.errors import ManusError
from manus.state.messages import has_calls, list_calls
from manus.state.replies import get_finish_reason
from manus.state.text import sanitize_all

_OWN_PACKAGE = "manus."
_CHOSEN = ("temperature", "max_tokens", "reasoning_effort")
"""Parameters that are sent only if the settings have them."""
_ESSENTIAL = frozenset(
    {"role", "name", "content", "tool_calls", "tool_call_id", "messages", "model", "tools"}
)
"""Fields and parameters without which there is no request."""


IS_SYNC = ContextVar("manus_is_sync", default=False)
"""Whether a run has its own event loop, which ends with the call that started the run."""


async def ask_endpoint(
    model: Runnable[Any, Any],
    endpoint: ModelSettings,
    request: ModelRequest,
    *,
    is_caller_model: bool = False,
) -> AIMessage:
    """Return the reply of an endpoint, with its calls parsed and repaired.

    If the server refuses the form of the request, it is sent again in another form.
    """
    package = None
    if not type(model).__module__.startswith(_OWN_PACKAGE):
        package = package_for(model)
    known = find_rules(endpoint, package).refusing(*learned_words(endpoint))
    words: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    refused: SentRequest | None = None
    while True:
        call = _EndpointCall(model, endpoint, request, package, known.refusing(*words))
        try:
            reply = await call.send(is_sync=is_caller_model and IS_SYNC.get())
        except ManusError:
            raise
        except Exception as error:  # each client has its own
            sent = call.describe()
            word = find_change(error, sent, call.rules)
            if word is None or len(words) == MAX_CHANGES:
                raise
            refused = refused or sent
            words += (word,)
            if is_lasting(word, error):
                lasting += (word,)
        else:
            if refused is not None and lasting:
                remember(endpoint, lasting, refused)
            return reply


class _EndpointCall:
    """One attempt to send a request to an endpoint, in a form that is valid under some rules."""

    def __init__(
        self,
        model: Runnable[Any, Any],
        endpoint: ModelSettings,
        request: ModelRequest,
        package: Provider | None,
        rules: ServerRules,
    ) -> None:
        self.rules = rules
        self._endpoint = endpoint
        self._request = request
        self._package = package
        if package is not None and isinstance(model, BaseChatModel):
            model = without_parameters(model, rules.dropped)
        self._model = model
        self._wire_rules = select_wire_rules(endpoint, rules)
        self._offered = request.cache.adapt_tools(request.tools, rules)
        tools = self._offered.tools
        self._chat_model = model
        is_native = rules.tools and endpoint.tool_calling != "prompted"
        if is_native and package is not None and tools:
            model_with_tools = _bind_tools(model, tools, request.tool_choice)
            is_native = model_with_tools is not None
            self._chat_model = model_with_tools or model
        self._has_native_tools = is_native and bool(tools)
        self._has_prompted_tools = not is_native and bool(tools)
        messages: Sequence[BaseMessage] = request.messages
        # several packages refuse calls where no tools are offered
        wants_tools = package is not None and package.wants_tools and any(map(has_calls, messages))
        is_plain = not is_native or (wants_tools and not tools)
        if self._has_prompted_tools:
            messages = prompt_with_tools(messages, tools)
        elif is_plain:
            messages = as_plain_text(messages)
        # results are then messages of the user, which several servers require to alternate
        form = rules.refusing("user_after_tool") if is_plain else rules
        self._messages = request.cache.find_valid(form).of(messages)
        self._options = self._build_options()

    def _build_options(self) -> dict[str, Any]:
        """Return the keyword arguments of the call."""
        request = self._request
        options: dict[str, Any] = dict(request.options)
        if request.quiet or self._has_prompted_tools:
            # calls in the text are not meant for viewers
            options["config"] = {"tags": [TAG_NOSTREAM]}
        if self._package is not None:
            if not request.streams:
                options["stream"] = False
            limit = self._list_package_parameters().get("max_tokens")
            if self.rules.reply_limit is not None and limit is not None:
                options["max_tokens"] = min(limit, self.rules.reply_limit)
            return options
        options[SERVER_RULES] = self._wire_rules
        options[WIRE_FORMS] = request.cache.find_wire_forms(self._wire_rules)
        if self._has_native_tools:
            options["tools"] = self._offered.tools
            if request.tool_choice != "auto":
                options["tool_choice"] = _to_wire(request.tool_choice, self.rules)
        return options

    async def send(self, *, is_sync: bool) -> AIMessage:
        """Return the reply, with its calls parsed and repaired."""
        messages = self._messages
        if self._package is not None:
            messages = drop_foreign_reasoning(messages, self._wire_rules.origin)
            messages = adapt_to_package(messages, self._package, chat_model_in(self._model))
        if is_sync:
            # the caller's client outlives this loop, and would keep connections of it
            reply = await asyncio.to_thread(self._chat_model.invoke, messages, **self._options)
        else:
            reply = await self._chat_model.ainvoke(messages, **self._options)
        reply = _normalize_reply(reply, self._package)
        tools = self._offered.tools
        if tools:
            reply = with_text_calls(reply, tools, is_prompted=self._has_prompted_tools)
        if reply.invalid_tool_calls:
            reply = with_repairs(reply)
        for kind in (reply.tool_calls, reply.invalid_tool_calls):
            for tool_call in kind:
                name = tool_call["name"] or ""
                tool_call["name"] = self._offered.names.get(name, name)
        return _sanitize_message(with_origin(reply, self._endpoint))

    def describe(self) -> SentRequest:
        """Return what the request contains that a server may refuse."""
        endpoint = self._endpoint
        parameters: dict[str, Any] = {}
        list_own = getattr(self._model, "list_parameters", None)
        if self._package is not None:
            parameters = self._list_package_parameters()
        elif list_own is not None:
            parameters = list_own(self.rules, **self._options)
            fields = {name: None for message in self._messages for name in self._fields(message)}
            parameters = {**fields, **parameters}
        settings = endpoint.model_dump(include={*_CHOSEN}, exclude_none=True)
        chosen = {*settings, *self._request.options}
        if self._request.tool_choice != "auto":
            chosen.add("tool_choice")
        if "max_tokens" in chosen:
            chosen |= {*self.rules.token_names}
        tools = [tool["function"]["name"] for tool in self._offered.tools if "function" in tool]
        parts = frozenset(w for w in WORDS if w in parameters or self._would_change(w))
        names = {name: value for name, value in parameters.items() if name not in _ESSENTIAL}
        return SentRequest(names, tools, parts, frozenset(chosen))

    def _list_package_parameters(self) -> dict[str, Any]:
        """Return the parameters that the chat model of a package is known to send."""
        if not isinstance(self._model, BaseChatModel):
            return {}
        sent = {name: value for name, (_, value) in list_parameters(self._model).items()}
        return {**sent, **self._request.options}

    def _fields(self, message: BaseMessage) -> Iterable[str]:
        """Return the names of the optional fields of a message in the protocol."""
        return wire_form(message, self._wire_rules).keys() - _ESSENTIAL

    def _would_change(self, word: str) -> bool:
        """Return whether the request would be another one if the server refused what a word names.

        What a package makes of null content and of tools is its own matter.
        """
        # with caches of its own: this form is only compared
        request = replace(self._request, cache=RequestCache())
        rules = self.rules.refusing(word)
        other = _EndpointCall(self._model, self._endpoint, request, self._package, rules)
        return other._content() != self._content()

    def _content(self) -> tuple[list[dict[str, Any]], Sequence[Any]]:
        """Return the native tools and the messages of the request, as far as they are known."""
        tools = self._offered.tools if self._has_native_tools else []
        if self._package is not None:
            return tools, self._messages
        return tools, [wire_form(message, self._wire_rules) for message in self._messages]


def _bind_tools(
    model: Runnable[Any, Any], tools: list[dict[str, Any]], tool_choice: Any
) -> Runnable[Any, Any] | None:
    """Return the model with its tools bound; None if the chat model cannot bind tools.

    In that case they are described in the prompt.
    """
    choice = {}
    if tool_choice == "required":
        choice["tool_choice"] = "any"
    elif tool_choice not in ("auto", "none"):
        choice["tool_choice"] = tool_choice
    try:
        return with_tools(model, tools, **choice)
    except NotImplementedError:
        return None


def _to_wire(tool_choice: Any, rules: ServerRules) -> Any:
    """Return a tool choice in OpenAI's form; LangChain's is `any`, or the name of a tool."""
    if tool_choice in ("any", True):
        return "required"
    if not isinstance(tool_choice, str) or tool_choice in ("none", "required"):
        return tool_choice
    return {"type": "function", "function": {"name": valid_name(tool_choice, rules)}}


def _normalize_reply(reply: AIMessage, package: Provider | None) -> AIMessage:
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


def package_for(model: Runnable[Any, Any]) -> Provider | None:
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
