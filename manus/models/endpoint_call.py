"""Send one request to one endpoint: in its dialect, with native tool calls or described tools."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from manus.config.model_settings import ModelSettings
from manus.config.provider_table import OTHER, Provider
from manus.models.model_request import ModelRequest
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
    is_lasting,
    learned_words,
    list_changes,
    remember,
)
from manus.models.server_rules import ServerRules
from manus.models.tool_calls import with_cut_off_calls, with_repairs
from manus.models.valid_messages import list_valid, valid_name
from manus.models.wire_forms import SERVER_RULES, select_wire_rules, wire_form
from manus.models.wrapped import chat_model_in, chat_models_in, with_tools
from manus.state.errors import ManusError
from manus.state.messages import list_calls
from manus.state.replies import get_finish_reason
from manus.state.text import sanitize_all

_OWN_PACKAGE = "manus."
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
    rules = find_rules(endpoint, package).refusing(*learned_words(endpoint))
    call = _EndpointCall(model, endpoint, request, package, rules)
    change_count = 0
    lasting: list[str] = []
    while True:
        try:
            reply = await call.send(is_sync=is_caller_model and IS_SYNC.get())
        except ManusError:
            raise
        except Exception as error:  # each client has its own
            word = call.find_change(error)
            if word is None or change_count == MAX_CHANGES:
                raise
            call = call.refusing(word)
            change_count += 1
            if is_lasting(word, error):
                lasting.append(word)
        else:
            if lasting:
                remember(endpoint, lasting)
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
        self._rules = rules
        self._endpoint = endpoint
        self._request = request
        self._package = package
        if package is not None and isinstance(model, BaseChatModel):
            model = without_parameters(model, rules.dropped)
        self._model = model
        self._wire_rules = select_wire_rules(endpoint, rules)
        self._offered = request.cache.adapt(request.tools, rules)
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
        if self._has_prompted_tools:
            messages = prompt_with_tools(messages, tools)
        elif not is_native:
            messages = as_plain_text(messages)
        self._messages = list_valid(messages, rules)
        self._options = self._build_options()

    def refusing(self, word: str) -> _EndpointCall:
        """Return the call in the form for a server that refuses what a word names."""
        rules = self._rules.refusing(word)
        return _EndpointCall(self._model, self._endpoint, self._request, self._package, rules)

    def find_change(self, error: Exception) -> str | None:
        """Return the word for what a server refuses in the call; None if it is nothing in it."""
        sent = self._list_parts()
        tools = [tool["function"]["name"] for tool in self._offered.tools if "function" in tool]
        for word in list_changes(error, sent[0], tools, self._rules):
            if self.refusing(word)._list_parts() != sent:
                return word
        return None

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
            if self._rules.reply_limit is not None and limit is not None:
                options["max_tokens"] = min(limit, self._rules.reply_limit)
            return options
        options[SERVER_RULES] = self._wire_rules
        if self._has_native_tools:
            options["tools"] = self._offered.tools
            if request.tool_choice != "auto":
                options["tool_choice"] = _to_wire(request.tool_choice, self._rules)
        return options

    async def send(self, *, is_sync: bool) -> AIMessage:
        """Return the reply, with its calls parsed and repaired."""
        messages = self._messages
        if self._package is not None:
            messages = drop_foreign_reasoning(messages, self._wire_rules.origin)
            messages = adapt_to_package(
                messages,
                self._package,
                with_tools=self._has_native_tools,
                model=chat_model_in(self._model),
            )
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

    def _list_parts(self) -> tuple[dict[str, Any], Any, Any]:
        """Return the parameters, the messages and the tools of the request, as far as known.

        The parameters include the optional fields of messages. What a package makes of messages is
        its own matter.
        """
        messages: Any = self._messages
        parameters: dict[str, Any] = {}
        list_own = getattr(self._model, "list_parameters", None)
        if self._package is not None:
            parameters = {**self._list_package_parameters(), **self._options}
        elif list_own is not None:
            messages = [wire_form(message, self._wire_rules) for message in messages]
            fields = {name: None for form in messages for name in form}
            parameters = fields | list_own(self._rules, **self._options)
        parameters = {name: v for name, v in parameters.items() if name not in _ESSENTIAL}
        return parameters, messages, self._has_native_tools and self._offered.tools

    def _list_package_parameters(self) -> dict[str, Any]:
        """Return the parameters that the chat model of a package is known to send."""
        if not isinstance(self._model, BaseChatModel):
            return {}
        sent = {name: value for name, (_, value) in list_parameters(self._model).items()}
        return {**sent, **self._request.options}


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
