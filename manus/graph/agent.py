"""The agent graph: think, act, stuck_check, and the schema of its state."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NotRequired,
    Required,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from langchain_core.messages import SystemMessage
from langchain_core.runnables import Runnable
from langgraph.cache.base import BaseCache
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolCallTransformer
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer
from typing_extensions import TypedDict, Unpack

from manus.config.context import Context
from manus.config.model_settings import split_spec
from manus.config.packages import import_optional
from manus.config.profile import Profile
from manus.graph.profiles import find_profile
from manus.graph.routing import Router, route_after_stuck_check, route_after_think
from manus.graph.run_graph import RunGraph
from manus.models.wrapped import chat_model_in
from manus.nodes.act import act
from manus.nodes.stuck_check import stuck_check
from manus.nodes.think import think
from manus.nodes.wrapping import AgentOptions
from manus.prompts import escape_dollars
from manus.state.agent import AgentOutput, AgentResult, AgentStart, AgentState
from manus.state.endings import list_reasons
from manus.tools.delegate import DELEGATE

if TYPE_CHECKING:
    from manus.graph.middleware.stack import MiddlewareStack


_AFTER_THINK: dict[Hashable, str] = {
    "call": "act",
    "no_call": "stuck_check",
    **dict.fromkeys(list_reasons("think"), END),
}
_NODE_NAMES = {"model": "think", "tools": "act"}
"""Names of `create_agent`'s nodes, and ours."""
_AFTER_STUCK_CHECK: dict[Hashable, str] = {
    "next_step": "think",
    **dict.fromkeys(list_reasons("stuck_check"), END),
}

Side = Literal["state", "input", "output"]
_DISPLAY_KEYS = {"todos", "files"}
"""Keys that are derived for chat UIs unless the caller has channels with these names."""


class AgentKeywords(TypedDict, total=False):
    """The keywords of `build_agent` other than those that determine the type of its result."""

    model: str | Runnable[Any, Any] | None
    system_prompt: str | SystemMessage | None
    middleware: Sequence[Any]
    response_format: Any
    context_schema: type[Any] | None
    checkpointer: Checkpointer
    store: BaseStore | None
    interrupt_before: Sequence[str] | None
    interrupt_after: Sequence[str] | None
    debug: bool
    name: str | None
    cache: BaseCache[Any] | None
    transformers: Sequence[Any] | None


@overload
def build_agent(
    profile: str | Profile | Runnable[Any, Any] = "manus",
    tools: Sequence[Any] | None = None,
    *,
    state_schema: None = None,
    **keywords: Unpack[AgentKeywords],
) -> RunGraph[AgentResult]: ...


@overload
def build_agent(
    profile: str | Profile | Runnable[Any, Any] = "manus",
    tools: Sequence[Any] | None = None,
    *,
    state_schema: type[Any],
    **keywords: Unpack[AgentKeywords],
) -> RunGraph[Any]: ...


def build_agent(
    profile: str | Profile | Runnable[Any, Any] = "manus",
    tools: Sequence[Any] | None = None,
    *,
    model: str | Runnable[Any, Any] | None = None,
    system_prompt: str | SystemMessage | None = None,
    middleware: Sequence[Any] = (),
    response_format: Any = None,
    state_schema: type[Any] | None = None,
    context_schema: type[Any] | None = Context,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    interrupt_before: Sequence[str] | None = None,
    interrupt_after: Sequence[str] | None = None,
    debug: bool = False,
    name: str | None = None,
    cache: BaseCache[Any] | None = None,
    transformers: Sequence[Any] | None = None,
) -> RunGraph[Any]:
    """Return the compiled agent graph of a profile.

    Takes the arguments of LangChain's `create_agent` with the same meaning; docs/langchain.md lists
    the differences. `model` (`PROVIDER:NAME`, or a chat model, including one with `bind`,
    `with_retry` or `with_fallbacks`), `tools` and `system_prompt` replace those of the profile; the
    model may be the first argument, as in `create_agent`. The context of a run may name another
    model. If `context_schema` is not `Context`, the fields that both have apply to the run, and
    tools get the whole context. Tools and middleware can read and change the additional keys of
    `state_schema`. With a checkpointer and a `thread_id` in the configuration, runs are persisted
    and can be resumed. `name` is the name in the agent's messages, and the graph's name as a node
    of another graph; by default, the graph has the profile's name.

    Example:
        agent = build_agent("swe", model="openai:gpt-5")
        result = agent.invoke({"request": "Fix the failing test."})

    Raises:
        SettingsError: the profile does not exist, `model` is not a chat model, or the extra
            `langchain` is not installed.
        UsageError: two middleware have the same name.
    """
    if not isinstance(profile, Profile) and is_model(profile):
        model = profile
        profile = "manus"
    if not isinstance(profile, Profile):
        profile = find_profile(str(profile))
    check_model(model)
    stack = _load_stack(middleware, response_format)
    profile = _change_profile(profile, model, tools, system_prompt, stack)
    builder = _build_graph(profile, context_schema or Context, state_schema, stack)
    compiled = builder.compile(
        checkpointer=checkpointer,
        store=store,
        interrupt_before=_own_names(interrupt_before),
        interrupt_after=_own_names(interrupt_after),
        debug=debug,
        name=name or profile.name,
        cache=cache,
        transformers=list_transformers(stack, transformers),
    )
    graph: RunGraph[Any] = RunGraph.of(compiled, profile, build_subagent)
    message = system_prompt if isinstance(system_prompt, SystemMessage) else None
    graph.agent_options = AgentOptions(stack, message, name)
    return graph


def build_subagent(name: str) -> RunGraph[Any]:
    """Return the graph of a profile for delegated tasks: it cannot delegate in turn. Blocking.

    Raises:
        SettingsError: the profile does not exist.
    """
    profile = find_profile(name)
    tools = tuple(tool for tool in profile.tools if str(tool).lower() != DELEGATE)
    return build_agent(replace(profile, tools=tools))


def _load_stack(middleware: Sequence[Any], response_format: Any) -> MiddlewareStack | None:
    """Return the middleware and the response format; None if there is neither.

    Raises:
        SettingsError: the extra `langchain` is not installed.
        UsageError: two middleware have the same name.
    """
    if not middleware and response_format is None:
        return None
    user, remedy = "Middleware and response formats need", "install `manus[langchain]`"
    stack = import_optional("manus.graph.middleware.stack", user, "langchain", remedy)
    middleware_stack: MiddlewareStack = stack.MiddlewareStack(middleware, response_format)
    return middleware_stack


def _change_profile(
    profile: Profile,
    model: str | Runnable[Any, Any] | None,
    tools: Sequence[Any] | None,
    system_prompt: str | SystemMessage | None,
    stack: MiddlewareStack | None,
) -> Profile:
    """Return the profile with the caller's model, tools and prompt."""
    changes: dict[str, Any] = {}
    if model is not None:
        changes["model"] = model
    if system_prompt is not None:
        changes["system_prompt"] = ""
        if isinstance(system_prompt, str):
            changes["system_prompt"] = escape_dollars(system_prompt)
    if tools is not None:
        changes["tools"] = (*tools,)
        if "terminate" not in tools:
            changes["next_step_prompt"] = ""  # the profile's is about its own tools
    if stack is not None:
        changes["tools"] = (*changes.get("tools", profile.tools), *stack.tools)
    return replace(profile, **changes)


def _own_names(nodes: Sequence[str] | None) -> list[str] | None:
    """Return the names of nodes at which to interrupt; accept those of `create_agent` too."""
    if nodes is None or nodes == "*":
        return cast("list[str] | None", nodes)
    return [_NODE_NAMES.get(node, node) for node in nodes]


def _build_graph(
    profile: Profile,
    context_schema: type[Any],
    state_schema: type[Any] | None,
    stack: MiddlewareStack | None,
) -> StateGraph[Any, Any, Any, Any]:
    """Return the graph with its nodes and edges."""
    schemas = [] if stack is None else stack.list_schemas()
    keys = list_keys([*schemas, state_schema])
    state: Any = extend_schema(AgentState, keys["state"])
    builder = StateGraph(
        state,
        context_schema=context_schema,
        input_schema=extend_schema(AgentStart, keys["input"]),
        output_schema=extend_schema(AgentOutput, keys["output"]),
    )
    # LangGraph passes state, runtime and configuration; its types allow only two of them
    nodes: dict[str, Any] = {"think": think, "act": act, "stuck_check": stuck_check}
    for name, node in nodes.items():
        # explicit, because LangGraph would create channels for the keys of a task of `act`; from
        # 1.2.24 on, tools see only the keys of their node's schema
        builder.add_node(name, node, input_schema=state)
    if stack is not None:
        from manus.graph.middleware.wiring import add_hooks

        add_hooks(builder, stack, profile)
        return builder
    builder.add_edge(START, "think")
    after_think = partial(route_after_think, special=profile.special_tools)
    after_think_router = Router(after_think, "route_after_think", takes_config=True)
    builder.add_conditional_edges("think", after_think_router, _AFTER_THINK)
    builder.add_edge("act", "stuck_check")
    after_check = Router(route_after_stuck_check, "route_after_stuck_check")
    builder.add_conditional_edges("stuck_check", after_check, _AFTER_STUCK_CHECK)
    return builder


def check_model(model: object) -> None:
    """Check that the `model` argument is a chat model or a name.

    Raises:
        SettingsError: it is neither.
    """
    if model is not None and not isinstance(model, str):
        chat_model_in(model)


def is_model(argument: str | Runnable[Any, Any]) -> bool:
    """Return whether an argument is a chat model, or the name of one: `PROVIDER:NAME`."""
    return not isinstance(argument, str) or split_spec(argument)[1] != argument


def list_transformers(
    stack: MiddlewareStack | None, transformers: Sequence[Any] | None
) -> list[Any]:
    """Return the stream transformers of an agent; they do nothing before a v3 stream is opened."""
    own = stack.transformers if stack is not None else []
    unique: list[Any] = []
    for factory in (ToolCallTransformer, subagents, *own, *(transformers or ())):
        if not any(factory is other for other in unique):
            unique.append(factory)
    return unique


def subagents(scope: tuple[str, ...]) -> Any:
    """Return the projection of `subagents`, LangChain's own; one that does nothing without it."""
    try:
        from langchain.agents._subagent_transformer import SubagentTransformer
    except ImportError:
        return ToolCallTransformer(scope)
    return SubagentTransformer(scope)


def extend_schema(schema: type[Any], hints: Mapping[str, Any]) -> type[Any]:
    """Return a state schema with the keys of another one that the agent does not have."""
    if not hints:
        return schema
    existing = set(get_type_hints(AgentState)) - _DISPLAY_KEYS
    keys = get_type_hints(schema, include_extras=True)
    keys |= {name: hint for name, hint in hints.items() if name not in existing}
    extended: type[Any] = cast(Any, TypedDict)(schema.__name__, keys, total=False)
    extended.__doc__ = schema.__doc__
    return extended


def list_keys(schemas: Sequence[type[Any] | None]) -> dict[Side, dict[str, Any]]:
    """Return the keys that state schemas add to state, input and output, with their types.

    Later schemas override earlier ones. Keys that LangChain's `PrivateStateAttr` and the like mark
    are omitted from input and output.
    """
    keys: dict[Side, dict[str, Any]] = {"state": {}, "input": {}, "output": {}}
    for schema in schemas:
        hints = {} if schema is None else get_type_hints(schema, include_extras=True)
        for name, hint in hints.items():
            marks = [*_find_marks(hint)]
            keys["state"][name] = hint
            for side in ("input", "output"):
                keys[side].pop(name, None)
                if not any(getattr(mark, side) for mark in marks):
                    keys[side][name] = hint
    return keys


def _find_marks(hint: Any) -> Iterator[Any]:
    """Yield the marks of a private key, inside `NotRequired` or outside."""
    for metadata in getattr(hint, "__metadata__", ()):
        # by name: `langchain` is an extra
        if type(metadata).__name__ == "OmitFromSchema":
            yield metadata
    if get_origin(hint) in (Required, NotRequired):
        yield from _find_marks(get_args(hint)[0])
