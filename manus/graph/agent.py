"""The agent graph: think, act, stuck_check."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast, get_type_hints

from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer
from typing_extensions import TypedDict

from manus.config.context import Context
from manus.config.model_settings import split_spec
from manus.config.profile import Profile
from manus.graph.profiles import profile_named
from manus.graph.routing import Router, route_after_stuck_check, route_after_think
from manus.graph.run_graph import RunGraph
from manus.models.wrapped import chat_model_in
from manus.nodes.act import act
from manus.nodes.stuck_check import stuck_check
from manus.nodes.think import think
from manus.state.agent import AgentOutput, AgentStart, AgentState

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
) -> RunGraph:
    """The compiled agent graph of a profile.

    `model` (`PROVIDER:NAME`, or a chat model, also one with `bind`, `with_retry` or
    `with_fallbacks`), `tools` and `system_prompt` stand in place of the
    profile's, as in LangChain's `create_agent`; a model may be given first, as there. A run's
    context may name another model. Of a context with a schema of the caller's own, the fields that
    `Context` has too count for the run, and its tools are given all of it. The keys of
    `state_schema` are kept beside the agent's own: its tools read and change them. With a
    checkpointer and a `thread_id` in the configuration, runs are persisted and can be resumed;
    without one a run lives as long as its process. `name` is the graph's, where it is a node of
    another one; by default the profile's.

    Example:
        agent = build_agent("swe", model="openai:gpt-5")
        result = agent.invoke({"request": "Fix the failing test."})

    Raises:
        SettingsError: there is no profile of that name, `model` is no chat model, or a `$` in the
            prompt stands for nothing.
    """
    if not isinstance(profile, Profile) and is_model(profile):
        profile, model = "manus", profile
    chosen = profile if isinstance(profile, Profile) else profile_named(str(profile))
    check_model(model)
    given: dict[str, Any] = {"model": model, "tools": tools, "system_prompt": system_prompt}
    if tools is not None and "terminate" not in tools:
        given["next_step_prompt"] = ""  # the profile's speaks of its own tools
    chosen = replace(chosen, **{k: v for k, v in given.items() if v is not None})
    builder = _graph_of(chosen, context_schema, state_schema)
    compiled = builder.compile(checkpointer=checkpointer, store=store, name=name or chosen.name)
    return RunGraph.of(compiled, chosen)


def _graph_of(
    profile: Profile, context_schema: type[Any], state_schema: type[Any] | None
) -> StateGraph[Any, Any, Any, Any]:
    """The nodes and edges."""
    schemas = (AgentState, AgentStart, AgentOutput)
    state, start, output = (with_keys_of(schema, state_schema) for schema in schemas)
    builder = StateGraph(
        state, context_schema=context_schema, input_schema=start, output_schema=output
    )
    # LangGraph gives a node state, runtime and configuration; its types know only two of the three
    nodes: dict[str, Any] = {"think": think, "act": act, "stuck_check": stuck_check}
    for name, node in nodes.items():
        # named, since LangGraph would make channels of what a task of `act` is sent
        builder.add_node(name, node, input_schema=AgentState)
    builder.add_edge(START, "think")
    after_think = partial(route_after_think, special=profile.special_tools)
    builder.add_conditional_edges("think", Router(after_think, "route_after_think"), _AFTER_THINK)
    builder.add_edge("act", "stuck_check")
    after_check = Router(route_after_stuck_check, "route_after_stuck_check")
    builder.add_conditional_edges("stuck_check", after_check, _AFTER_STUCK_CHECK)
    return builder


def with_keys_of(schema: type[Any], other: type[Any] | None) -> type[Any]:
    """Return a state schema with the keys of another one, as far as the agent has none of these."""
    if other is None:
        return schema
    known = get_type_hints(AgentState)
    hints = get_type_hints(other, include_extras=True)
    keys = {name: hint for name, hint in hints.items() if name not in known}
    keys |= get_type_hints(schema, include_extras=True)
    extended: type[Any] = cast(Any, TypedDict)(schema.__name__, keys, total=False)
    extended.__doc__ = schema.__doc__
    return extended


def check_model(model: object) -> None:
    """Check that what a caller gives as a model is one, or names one.

    Raises:
        SettingsError: it is not.
    """
    if model is not None and not isinstance(model, str):
        chat_model_in(model)


def is_model(given: str | Runnable[Any, Any]) -> bool:
    """Whether it is a model, or names one: `PROVIDER:NAME`."""
    return not isinstance(given, str) or split_spec(given)[1] != given
