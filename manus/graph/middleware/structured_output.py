"""Structured output: offer its schema to the model, and parse and check the reply."""

from __future__ import annotations

import copy
import importlib.util
from typing import Any

from langchain.agents import factory
from langchain.agents.structured_output import (
    AutoStrategy,
    MultipleStructuredOutputsError,
    OutputToolBinding,
    ProviderStrategy,
    ProviderStrategyBinding,
    StructuredOutputValidationError,
    ToolStrategy,
)
from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_function
from langchain_openai.chat_models.base import BaseChatOpenAI

from manus.models.openai_chat import FastChat
from manus.models.wrapped import chat_models_in
from manus.state.messages import CALL_FACTS

Strategy = ToolStrategy[Any] | ProviderStrategy[Any]
Handled = tuple[list[AnyMessage], Any]
"""The messages of a reply, and the structured response or None."""

_MISTAKES = "Error: {error}\n Please fix your mistakes."


class StructuredOutput:
    """The response format of an agent."""

    def __init__(self, response_format: Any) -> None:
        if not isinstance(response_format, AutoStrategy | ToolStrategy | ProviderStrategy):
            response_format = AutoStrategy(schema=response_format)
        self.format = response_format
        self._by_tool: ToolStrategy[Any] | None = None
        if isinstance(response_format, AutoStrategy):
            self._by_tool = ToolStrategy(schema=response_format.schema)
        elif isinstance(response_format, ToolStrategy):
            self._by_tool = response_format
        self.bindings: dict[str, OutputToolBinding[Any]] = {}
        """The tools by which a model returns a structured response, by name."""
        for spec in self._by_tool.schema_specs if self._by_tool else ():
            self.bindings[spec.name] = OutputToolBinding.from_schema_spec(spec)

    def select(self, response_format: Any, model: Any, tools: list[Any]) -> Strategy | None:
        """Return the strategy for a request, whose format a middleware may have changed.

        Raises:
            ValueError: the format has a tool that was not passed to `build_agent`.
        """
        if response_format is None:
            return None
        if not isinstance(response_format, AutoStrategy | ToolStrategy | ProviderStrategy):
            response_format = AutoStrategy(schema=response_format)
        if isinstance(response_format, AutoStrategy):
            if supports_provider_strategy(model, tools):
                return ProviderStrategy(schema=response_format.schema)
            if response_format is self.format and self._by_tool is not None:
                return self._by_tool
            response_format = ToolStrategy(schema=response_format.schema)
        if isinstance(response_format, ToolStrategy):
            for spec in response_format.schema_specs:
                if spec.name not in self.bindings:
                    raise ValueError(
                        f"The response format of the request has the tool `{spec.name}`, which "
                        "was not declared in the original response format of the agent."
                    )
        strategy: Strategy = response_format
        return strategy

    def tools_for(self, strategy: Strategy | None) -> list[BaseTool]:
        """Return the tools that a request offers for its structured response."""
        if not isinstance(strategy, ToolStrategy):
            return []
        return [self.bindings[spec.name].tool for spec in strategy.schema_specs]

    def handle(self, reply: AIMessage, strategy: Strategy | None) -> Handled:
        """Return the messages of a reply, and the structured response if it has one.

        Raises:
            StructuredOutputError: the reply is invalid, and the strategy does not handle it.
        """
        if isinstance(strategy, ProviderStrategy) and not reply.tool_calls:
            return [reply], _parse_text(reply, strategy)
        if not isinstance(strategy, ToolStrategy):
            return [reply], None
        calls = [call for call in reply.tool_calls if call["name"] in self.bindings]
        if len(calls) > 1:
            names = [call["name"] for call in calls]
            text = _explain(MultipleStructuredOutputsError(names, reply), strategy)
            return [reply, *(_answer(call, text) for call in calls)], None
        if not calls:
            return [reply], None
        return self._parse_call(reply, calls[0], strategy)

    def _parse_call(self, reply: AIMessage, call: ToolCall, strategy: ToolStrategy[Any]) -> Handled:
        try:
            binding = self.bindings[call["name"]]
            response = binding.parse(call["args"])
            _check(binding.schema, response)
        except Exception as error:  # noqa: BLE001 - the user's validators raise anything
            failure = StructuredOutputValidationError(call["name"], error, reply)
            failure.__cause__ = error
            return [reply, _answer(call, _explain(failure, strategy))], None
        text = strategy.tool_message_content or f"Returning structured response: {response}"
        return [reply, _answer(call, text)], response


def _answer(call: ToolCall, text: str) -> ToolMessage:
    facts = {CALL_FACTS: {"executed": False}}
    call_id = str(call["id"])
    return ToolMessage(text, tool_call_id=call_id, name=call["name"], additional_kwargs=facts)


def _parse_text(reply: AIMessage, strategy: ProviderStrategy[Any]) -> Any:
    spec = strategy.schema_spec
    try:
        response = ProviderStrategyBinding.from_schema_spec(spec).parse(reply)
        _check(spec.schema, response)
    except Exception as error:  # a user's validator may raise anything
        name = getattr(spec.schema, "__name__", "response_format")
        raise StructuredOutputValidationError(name, error, reply) from error
    return response


def _check(schema: Any, response: Any) -> None:
    """Check a response with a JSON Schema, which LangChain does not, if `jsonschema` is installed.

    Raises:
        ValueError: the response does not match it.
    """
    if isinstance(schema, dict) and importlib.util.find_spec("jsonschema") is not None:
        from jsonschema.validators import validator_for

        for error in validator_for(schema)(schema).iter_errors(response):
            raise ValueError(f"{error.json_path}: {error.message}")


def _explain(error: Exception, strategy: ToolStrategy[Any]) -> str:
    """Return the text with which the model is called again.

    Raises:
        StructuredOutputError: the strategy does not handle this error.
    """
    handle: Any = strategy.handle_errors
    if isinstance(handle, str):
        return handle
    is_handled = handle is True
    if (isinstance(handle, type) and issubclass(handle, Exception)) or isinstance(handle, tuple):
        is_handled = isinstance(error, handle)
    elif callable(handle):
        return str(handle(error))
    if not is_handled:
        raise error
    return _MISTAKES.format(error=error)


def supports_provider_strategy(model: Any, tools: list[Any]) -> bool:
    """Return whether LangChain considers a model to have native structured output."""
    return bool(factory._supports_provider_strategy(model, tools=tools))


def to_request_option(strategy: ProviderStrategy[Any]) -> dict[str, Any]:
    """Return the option of a request for a provider's own structured output, in OpenAI's form.

    A strict schema requires all fields and forbids others, as OpenAI demands.
    """
    spec = strategy.schema_spec
    schema = {**copy.deepcopy(spec.json_schema), "title": spec.name}
    function = convert_to_openai_function(schema, strict=bool(spec.strict))
    function["schema"] = function.pop("parameters")
    return {"response_format": {"type": "json_schema", "json_schema": function}}


def adapt_schemas(
    schemas: list[dict[str, Any]], model: Any, strategy: Strategy | None
) -> list[dict[str, Any]]:
    """Return the schemas of tools as a request with this model and strategy needs them.

    OpenAI's SDK refuses to parse structured output alongside tools that are not strict. This
    project's own client does not use that part of the SDK, nor does the Responses API.
    """
    if not isinstance(strategy, ProviderStrategy):
        return schemas
    if not any(map(_parses_with_sdk, chat_models_in(model))):
        return schemas
    return [_make_strict(schema) if "function" in schema else schema for schema in schemas]


def _parses_with_sdk(model: Any) -> bool:
    if isinstance(model, FastChat) or not isinstance(model, BaseChatOpenAI):
        return False
    return not model.use_responses_api


def _make_strict(schema: dict[str, Any]) -> dict[str, Any]:
    function = convert_to_openai_function(schema["function"], strict=True)
    return {**schema, "function": function}
