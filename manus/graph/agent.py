"""The agent graph: think, act, stuck_check."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast, get_type_hints, overload

from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer
from typing_extensions import TypedDict

from manus.config.context import Context
from manus.config.model_settings import split_spec
from manus.config.profile import Profile
from manus.graph.profiles import find_profile
from manus.graph.routing import Router, route_after_stuck_check, route_after_think
from manus.graph.run_graph import RunGraph
from manus.models.wrapped import chat_model_in
from manus.nodes.act import act
from manus.nodes.stuck_check import stuck_check
from manus.nodes.think import think
from manus.prompts import escape_dollars
from manus.state.agent import AgentOutput, AgentStart, AgentState
from manus.state.results import AgentResult
from manus.tools.delegate import DELEGATE

_AFTER_THINK: dict[Hashable, str] = {
    "call": "act",
    "no_call": "stuck_check",
    "budget": END,
    "error": END,
}
_AFTER_STUCK_CHECK: dict[Hashable, str] = {
    "next_step": "think",
    **dict.fromkeys(("terminated", "answered", "max_steps", "budget", "stuck", "error"), END),
}


@overload
def build_agent(
    profile: str | Profile | Runnable[Any, Any] = "manus",
    *,
    model: str | Runnable[Any, Any] | None = None,
    tools: Sequence[Any] | None = None,
    system_prompt: str | None = None,
    context_schema: type[Any] = Context,
    state_schema: None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    name: str | None = None,
) -> RunGraph[AgentResult]: ...


@overload
def build_agent(
    profile: str | Profile | Runnable[Any, Any] = "manus",
    *,
    model: str | Runnable[Any, Any] | None = None,
    tools: Sequence[Any] | None = None,
    system_prompt: str | None = None,
    context_schema: type[Any] = Context,
    state_schema: type[Any],
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    name: str | None = None,
) -> RunGraph[Any]: ...


def build_agent(
    profile: str | Profile | Runnable[Any, Any] = "manus",
    *,
    model: str | Runnable[Any, Any] | None = None,
    tools: Sequence[Any] | None = None,
    system_prompt: str | None = None,
    context_schema: type[Any] = Context,
    state_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    name: str | None = None,
) -> RunGraph[Any]:
    """Return the compiled agent graph of a profile.

    `model` (`PROVIDER:NAME`, or a chat model, including one with `bind`, `with_retry` or
    `with_fallbacks`), `tools` and `system_prompt` replace those of the profile, as in LangChain's
    `create_agent`; the model may be the first argument, as there. The context of a run may name
    another model. If `context_schema` is not `Context`, the fields that both have apply to the run,
    and tools get the whole context. Tools can read and change the additional keys of
    `state_schema`. With a checkpointer and a `thread_id` in the configuration, runs are persisted
    and can be resumed. `name` is the graph's name as a node of another graph; by default the
    profile's.

    Example:
        agent = build_agent("swe", model="openai:gpt-5")
        result = agent.invoke({"request": "Fix the failing test."})

    Raises:
        SettingsError: there is no such profile, or `model` is not a chat model.
    """
    if not isinstance(profile, Profile) and is_model(profile):
        model = profile
        profile = "manus"
    if not isinstance(profile, Profile):
        profile = find_profile(str(profile))
    check_model(model)
    changes: dict[str, Any] = {}
    if model is not None:
        changes["model"] = model
    if system_prompt is not None:
        changes["system_prompt"] = escape_dollars(system_prompt)
    if tools is not None:
        changes["tools"] = tools
        if "terminate" not in tools:
            changes["next_step_prompt"] = ""  # the profile's is about its own tools
    profile = replace(profile, **changes)
    builder = _build_graph(profile, context_schema, state_schema)
    compiled = builder.compile(checkpointer=checkpointer, store=store, name=name or profile.name)
    return RunGraph.of(compiled, profile, build_subagent)


def build_subagent(name: str) -> RunGraph[Any]:
    """Return the graph of a profile for delegated tasks: it cannot delegate in turn. Blocking.

    Raises:
        SettingsError: there is no such profile.
    """
    profile = find_profile(name)
    tools = tuple(tool for tool in profile.tools if str(tool).lower() != DELEGATE)
    return build_agent(replace(profile, tools=tools))


def _build_graph(
    profile: Profile, context_schema: type[Any], state_schema: type[Any] | None
) -> StateGraph[Any, Any, Any, Any]:
    """Return the graph with its nodes and edges."""
    builder = StateGraph(
        extend_schema(AgentState, state_schema),
        context_schema=context_schema,
        input_schema=extend_schema(AgentStart, state_schema),
        output_schema=extend_schema(AgentOutput, state_schema),
    )
    # LangGraph passes state, runtime and configuration; its types allow only two of them
    nodes: dict[str, Any] = {"think": think, "act": act, "stuck_check": stuck_check}
    for name, node in nodes.items():
        # explicit, because LangGraph would create channels for the keys of a task of `act`
        builder.add_node(name, node, input_schema=AgentState)
    builder.add_edge(START, "think")
    after_think = partial(route_after_think, special=profile.special_tools)
    after_think_router = Router(after_think, "route_after_think", takes_config=True)
    builder.add_conditional_edges("think", after_think_router, _AFTER_THINK)
    builder.add_edge("act", "stuck_check")
    after_check = Router(route_after_stuck_check, "route_after_stuck_check")
    builder.add_conditional_edges("stuck_check", after_check, _AFTER_STUCK_CHECK)
    return builder


def extend_schema(schema: type[Any], other: type[Any] | None) -> type[Any]:
    """Return a state schema with the keys of another one that the agent does not have."""
    if other is None:
        return schema
    existing = get_type_hints(AgentState)
    hints = get_type_hints(other, include_extras=True)
    keys = {name: hint for name, hint in hints.items() if name not in existing}
    keys |= get_type_hints(schema, include_extras=True)
    extended: type[Any] = cast(Any, TypedDict)(schema.__name__, keys, total=False)
    extended.__doc__ = schema.__doc__
    return extended


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
