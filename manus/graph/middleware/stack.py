"""The middleware of an agent, in order, around its model calls and its tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware.types import (
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from manus.calls.catalog import Catalog
from manus.calls.wrapped_call import Answer, Handler, ToolCallWrapper
from manus.graph.middleware.hooks import Middleware, call_wrapper, mark_authors, overrides
from manus.graph.middleware.structured_output import (
    Strategy,
    StructuredOutput,
    adapt_schemas,
    to_request_option,
)
from manus.models.client import ModelClient, Reply
from manus.nodes.model_request import (
    explain_overflow,
    render_history,
    request_reply,
    select_role,
    to_request,
)
from manus.nodes.wrapping import ModelAnswer, ModelStep
from manus.state.errors import ContextOverflowError, ManusError, UsageError
from manus.state.usage import Spending

_HOOK = "wrap_model_call"


_TOOL_HOOK = "wrap_tool_call"


@dataclass(slots=True)
class ModelCall:
    """One model call with the middleware around it."""

    step: ModelStep
    role: str
    middleware: Sequence[Middleware]
    structured: StructuredOutput | None
    has_dynamic_tools: bool
    """Whether a middleware may execute tools that the agent does not have."""
    rendered: list[AnyMessage] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    model: Any = None
    replies: list[Reply] = field(default_factory=list)
    failures: list[tuple[BaseException, ManusError]] = field(default_factory=list)
    """The exceptions that the middleware sees, and those that the run ends with."""
    commands: dict[int, list[Command[Any]]] = field(default_factory=dict)
    """The commands of each layer, which a repeated call of the layer replaces."""

    async def run(self) -> ModelAnswer:
        """Return the answer of the outermost middleware."""
        step = self.step
        try:
            response = await self._layer(0, await self._request())
        except ManusError:
            raise
        except Exception as error:
            for raised, failure in self.failures:
                if raised is error:
                    raise failure from error
            raise
        messages: list[Any] = []
        for message in response.result:
            if isinstance(message, AIMessage):
                message = step.prepare(message)
            messages.append(message)
        update: dict[str, Any] = {}
        if self.structured is not None or response.structured_response is not None:
            update["structured_response"] = response.structured_response
        # the innermost first, so that the outermost wins
        commands = [
            c for layer in sorted(self.commands, reverse=True) for c in self.commands[layer]
        ]
        reply = self._reply(messages)
        return ModelAnswer(reply, messages, update, commands)

    async def _request(self) -> ModelRequest[Any]:
        """Return the request as the run would send it."""
        step = self.step
        active_run = step.active_run
        self.rendered = await render_history(
            active_run, self.role, step.history, step.system, tight=False
        )
        self.model = await active_run.client.open_model(self.role)
        self.tools = [*active_run.catalog, *active_run.catalog.provider_tools]
        system = SystemMessage(step.system) if isinstance(step.system, str) else step.system
        return ModelRequest(
            model=self.model,
            tools=self.tools,
            system_message=system if step.system else None,
            response_format=self.structured.format if self.structured else None,
            messages=self.rendered,
            tool_choice=None,
            state=step.state,
            runtime=step.runtime,
        )

    async def _layer(self, index: int, request: ModelRequest[Any]) -> ModelResponse[Any]:
        """Return the response of a middleware and all those inside it."""
        if index == len(self.middleware):
            return await self._execute(request)

        async def handle(changed: ModelRequest[Any]) -> ModelResponse[Any]:
            for layer in [layer for layer in self.commands if layer > index]:
                del self.commands[layer]
            return await self._layer(index + 1, changed)

        response: Any = await call_wrapper(self.middleware[index], _HOOK, request, handle)
        self.commands.pop(index, None)
        if isinstance(response, ExtendedModelResponse):
            if response.command is not None:
                self.commands[index] = [_check(response.command, self.middleware[index])]
            response = response.model_response
        if isinstance(response, AIMessage):
            response = ModelResponse(result=[response])
        result: ModelResponse[Any] = response
        return result

    async def _execute(self, request: ModelRequest[Any]) -> ModelResponse[Any]:
        """Send a request, and parse the reply as its response format requires.

        Raises:
            Exception: that of the provider, so that a middleware can recognize it.
        """
        strategy = self._strategy(request)
        try:
            reply = await self._send(request, strategy)
        except ManusError as error:
            cause = error.__cause__
            if cause is None or isinstance(cause, ManusError):
                raise
            self.failures.append((cause, error))
            raise cause from None
        self.replies.append(reply)
        message = self.step.prepare(reply.message)
        if self.structured is None:
            return ModelResponse(result=[message])
        messages, structured = self.structured.handle(message, strategy)
        return ModelResponse(result=[*messages], structured_response=structured)

    def _strategy(self, request: ModelRequest[Any]) -> Strategy | None:
        if request.response_format is not None and self.structured is None:
            self.structured = StructuredOutput(request.response_format)
        if self.structured is None:
            return None
        return self.structured.select(request.response_format, request.model, request.tools)

    async def _send(self, request: ModelRequest[Any], strategy: Strategy | None) -> Reply:
        step = self.step
        client = self._client(request)
        choice: Any = step.notes.choice
        tools: list[dict[str, Any]] | None = None
        options = dict(request.model_settings)
        if choice != "none":
            tools = self._schemas(request, strategy)
            choice = _select_choice(request, strategy, choice)
        if isinstance(strategy, ProviderStrategy):
            options = {**to_request_option(strategy), **options}
        system = request.system_message
        messages = to_request(request.messages, system, step.notes)
        try:
            return await request_reply(client, self.role, messages, tools, choice, options)
        except ContextOverflowError as error:
            if request.messages is not self.rendered or client is not step.active_run.client:
                raise
            shorter = await render_history(
                step.active_run, self.role, step.history, step.system, tight=True
            )
            messages = to_request(shorter, system, step.notes)
            try:
                return await request_reply(client, self.role, messages, tools, choice, options)
            except ContextOverflowError:
                raise explain_overflow(error) from error

    def _client(self, request: ModelRequest[Any]) -> ModelClient:
        active_run = self.step.active_run
        if request.model is self.model:
            return active_run.client
        return active_run.client_for(request.model, self.role)

    def _schemas(
        self, request: ModelRequest[Any], strategy: Strategy | None
    ) -> list[dict[str, Any]]:
        """Return the schemas of the tools of a request.

        Raises:
            ValueError: a middleware offers a tool that nothing would execute.
        """
        catalog = self.step.active_run.catalog
        schemas = [*catalog.schemas()]
        if request.tools != self.tools:
            schemas = [_to_schema(tool, catalog) for tool in request.tools]
        self._check_tools(request.tools, catalog)
        extra = self.structured.tools_for(strategy) if self.structured else []
        schemas = adapt_schemas(schemas, request.model, strategy)
        return [*schemas, *map(convert_to_openai_tool, extra)]

    def _check_tools(self, tools: Sequence[Any], catalog: Catalog) -> None:
        if self.has_dynamic_tools:
            return
        unknown = [t.name for t in tools if isinstance(t, BaseTool) and not catalog.find(t.name)]
        if unknown:
            raise ValueError(
                f"Middleware added tools that nothing executes. Unknown tools: {unknown}. "
                "Pass them to `build_agent(tools=…)`, set them on the middleware's `tools`, or "
                "execute them in its `wrap_tool_call`."
            )

    def _reply(self, messages: Sequence[BaseMessage]) -> Reply:
        """Return the reply of the step with the usage of all requests that it took."""
        replies = [message for message in messages if isinstance(message, AIMessage)]
        message = replies[-1] if replies else AIMessage("")
        if self.replies:
            newest = self.replies[-1]
            return Reply(message, newest.used, newest.seconds)
        nothing = Spending(
            role=self.role, input_tokens=0, output_tokens=0, cached_tokens=0, model_calls=0
        )
        return Reply(message, nothing, 0.0)


async def ask_model(
    step: ModelStep,
    middleware: Sequence[Middleware],
    structured: StructuredOutput | None,
    *,
    has_dynamic_tools: bool,
) -> ModelAnswer:
    """Return the answer of the model, or of a middleware in its place."""
    role = await select_role(step.active_run, step.history, step.notes)
    return await ModelCall(step, role, middleware, structured, has_dynamic_tools).run()


def _to_schema(tool: Any, catalog: Catalog) -> dict[str, Any]:
    """Return the schema of a tool of a request, which may be one of the agent's."""
    if isinstance(tool, dict):
        return tool
    if isinstance(tool, BaseTool) and catalog.find(tool.name) is tool:
        return catalog.build_schema(tool)
    return convert_to_openai_tool(tool)


def _select_choice(request: ModelRequest[Any], strategy: Strategy | None, default: Any) -> Any:
    """Return the tool choice of a request; with a tool for structured output, any tool."""
    if isinstance(strategy, ToolStrategy):
        return "any"
    if request.tool_choice is None:
        return default
    return request.tool_choice


def _check(command: Command[Any], middleware: Middleware) -> Command[Any]:
    """Return the command of a middleware.

    Raises:
        NotImplementedError: it is more than an update of the state, as in LangChain.
    """
    for name in ("goto", "resume", "graph"):
        if getattr(command, name):
            raise NotImplementedError(
                f"Command {name} is not yet supported in wrap_model_call middleware. "
                "Use `jump_to` in a hook before or after the model instead."
            )
    update = command.update
    if isinstance(update, dict) and "messages" in update:
        messages = mark_authors(middleware, [], update["messages"])
        return Command(update={**update, "messages": messages})
    return command


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
