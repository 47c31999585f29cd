"""The middleware of an agent, in order: what they add to it, and what they wrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware.types import AgentState
from langgraph.prebuilt.tool_node import ToolCallRequest

from manus.calls.wrapped_call import Answer, Handler, ToolCallWrapper
from manus.graph.middleware.hooks import Middleware, call_wrapper, overrides
from manus.graph.middleware.model_calls import ask_model
from manus.graph.middleware.structured_output import StructuredOutput
from manus.nodes.wrapping import ModelAnswer, ModelStep
from manus.state.errors import UsageError

_TOOL_HOOK = "wrap_tool_call"


class MiddlewareStack:
    """The middleware and the response format of an agent."""

    def __init__(self, middleware: Sequence[Middleware], response_format: Any = None) -> None:
        """Check the middleware.

        Raises:
            UsageError: two have the same name.
        """
        self.middleware = tuple(middleware)
        names = [item.name for item in self.middleware]
        if len(set(names)) != len(names):
            raise UsageError(
                f"Two middleware have the same name ({', '.join(names)}); pass each once."
            )
        self.structured = None if response_format is None else StructuredOutput(response_format)
        self._around_models = self.having("wrap_model_call")
        self._around_tools = self.having(_TOOL_HOOK)
        self.tool_calls: ToolCallWrapper | None = None
        if self._around_tools:
            self.tool_calls = self._call_tool

    def having(self, hook: str) -> list[Middleware]:
        """Return the middleware that have a hook, in order."""
        return [item for item in self.middleware if overrides(item, hook)]

    @property
    def tools(self) -> list[Any]:
        """Return the tools that the middleware add."""
        tools: list[Any] = []
        for item in self.middleware:
            tools += getattr(item, "tools", None) or ()
        return tools

    @property
    def transformers(self) -> list[Any]:
        """Return the stream transformers that the middleware add, each once."""
        unique: list[Any] = []
        for item in self.middleware:
            for factory in getattr(item, "transformers", ()):
                if not any(factory is other for other in unique):
                    unique.append(factory)
        return unique

    def list_schemas(self) -> list[type[Any]]:
        """Return the state schemas of the middleware, in order."""
        return [AgentState, *(item.state_schema for item in self.middleware)]

    async def ask_model(self, step: ModelStep) -> ModelAnswer:
        """Return the answer of the model, or of a middleware in its place."""
        return await ask_model(
            step,
            self._around_models,
            self.structured,
            has_dynamic_tools=bool(self._around_tools),
        )

    async def _call_tool(self, request: ToolCallRequest, handler: Handler) -> Answer:
        """Return the answer of a tool call from the outermost middleware."""

        async def layer(index: int, changed: ToolCallRequest) -> Answer:
            if index == len(self._around_tools):
                return await handler(changed)
            item = self._around_tools[index]
            answer: Answer = await call_wrapper(
                item, _TOOL_HOOK, changed, lambda inner: layer(index + 1, inner)
            )
            return answer

        return await layer(0, request)
