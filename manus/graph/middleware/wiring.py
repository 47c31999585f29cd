"""Nodes and edges of the hooks of middleware, around think, act and stuck_check."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Literal

from langchain.agents.middleware import _trace_policy
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from manus.config.profile import Profile
from manus.graph.middleware.hooks import Middleware, hook_node, list_jumps
from manus.graph.middleware.stack import MiddlewareStack
from manus.graph.routing import AfterThink, Router, route_after_stuck_check, route_after_think
from manus.nodes.stuck_check import finish
from manus.state.endings import list_reasons

Jump = Literal["next", "model", "end"]
Builder = StateGraph[Any, Any, Any, Any]


def add_hooks(builder: Builder, stack: MiddlewareStack, profile: Profile) -> None:
    """Add the hooks of a stack to a graph that has the agent's nodes but no edges."""
    state: Any = builder.state_schema
    chains = {
        hook: [f"{item.name}.{hook}" for item in stack.having(hook)]
        for hook in ("before_agent", "before_model", "after_model", "after_agent")
    }
    for hook in chains:
        for item in stack.having(hook):
            node: Any = hook_node(item, hook)
            policy = _trace_policy._node_trace_policy(item.trace_policy)
            builder.add_node(f"{item.name}.{hook}", node, input_schema=state, trace_policy=policy)
    if needs_finish(stack):
        finish_node: Any = finish
        builder.add_node("finish", finish_node, input_schema=state)
    wiring = _Wiring(builder, stack, profile, chains)
    wiring.add_edges()


class _Wiring:
    """The edges of a graph with middleware."""

    def __init__(
        self,
        builder: Builder,
        stack: MiddlewareStack,
        profile: Profile,
        chains: dict[str, list[str]],
    ) -> None:
        self.builder = builder
        self.stack = stack
        self.chains = chains
        self.to_tools = partial(route_after_think, special=profile.special_tools)
        self.has_tools = bool(profile.tools)
        self.loop_entry = next(iter(chains["before_model"]), "think")
        self.exit = next(reversed(chains["after_agent"]), END)
        """The node that a run passes through at its end."""
        self.jumps = {"next": "", "model": self.loop_entry, "end": "finish"}

    def add_edges(self) -> None:
        """Connect the hooks with the agent's nodes."""
        builder = self.builder
        before = [*self.chains["before_agent"], *self.chains["before_model"], "think"]
        builder.add_edge(START, before[0])
        self._chain("before_agent", before)
        self._chain("before_model", [*self.chains["before_model"], "think"])
        self._leave_think()
        builder.add_edge("act", "stuck_check")
        after_check = Router(route_after_stuck_check, "route_after_stuck_check")
        ends: dict[Hashable, str] = dict.fromkeys(list_reasons("stuck_check"), self.exit)
        builder.add_conditional_edges(
            "stuck_check", after_check, {"next_step": self.loop_entry, **ends}
        )
        if "finish" in builder.nodes:
            builder.add_edge("finish", self.exit)
        self._chain("after_agent", [*reversed(self.chains["after_agent"]), END])

    def _chain(self, hook: str, nodes: Sequence[str]) -> None:
        """Connect the hooks of a kind with each other and with the node after the last."""
        for item in self.stack.having(hook):
            source = f"{item.name}.{hook}"
            target = nodes[nodes.index(source) + 1]
            self._connect(item, hook, source, target)

    def _connect(self, item: Middleware, hook: str, source: str, target: str) -> None:
        jumps = list_jumps(item, hook)
        if not jumps:
            self.builder.add_edge(source, target)
            return
        end = END if hook == "after_agent" else "finish"
        ends: dict[Hashable, str] = {"next": target}
        if "model" in jumps:
            ends["model"] = self.loop_entry
        if "end" in jumps:
            ends["end"] = end
        if "tools" in jumps:
            ends["tools"] = "act"
        self._add_router(source, partial(route_jump, allowed=jumps, to_tools=self.to_tools), ends)

    def _leave_think(self) -> None:
        """Connect think with the hooks after it, and the last of these with act and the rest."""
        builder = self.builder
        nodes = [*reversed(self.chains["after_model"])]
        routes: dict[Hashable, str] = {
            "call": "act",
            "no_call": "stuck_check",
            **dict.fromkeys(list_reasons("think"), self.exit),
        }
        if not nodes:
            after_think = Router(self.to_tools, "route_after_think")
            builder.add_conditional_edges("think", after_think, routes)
            return
        ends: dict[Hashable, str] = {"reply": nodes[0], "failed": self.exit}
        self._add_router("think", route_reply, ends)
        for item in reversed(self.stack.having("after_model")[1:]):
            source = f"{item.name}.after_model"
            self._connect(item, "after_model", source, nodes[nodes.index(source) + 1])
        jumps: dict[Hashable, str] = {"model": self.loop_entry, "end": "finish"}
        allowed: Sequence[str] = ("model", "end")
        if not self.has_tools:  # as in LangChain, where tools come with a router
            allowed = list_jumps(self.stack.having("after_model")[0], "after_model")
        last = partial(route_after_model, allowed=allowed, to_tools=self.to_tools)
        self._add_router(nodes[-1], last, {**routes, **jumps})

    def _add_router(
        self, source: str, route: Callable[[Any], Any], ends: dict[Hashable, str]
    ) -> None:
        name = f"route_after_{source}"
        self.builder.add_conditional_edges(source, Router(route, name), ends)


def needs_finish(stack: MiddlewareStack) -> bool:
    """Return whether a hook can end the run."""
    if stack.having("after_model"):
        return True
    for hook in ("before_agent", "before_model"):
        if any("end" in list_jumps(item, hook) for item in stack.having(hook)):
            return True
    return False


def route_reply(state: Any) -> Literal["reply", "failed"]:
    """Return whether the model has replied."""
    return "failed" if state.get("stop_reason") in list_reasons("think") else "reply"


def route_jump(
    state: Any, *, allowed: Sequence[str], to_tools: Callable[[Any], Any]
) -> Jump | list[Send]:
    """Return the node after a hook: its jump destination, if the hook has declared it."""
    jump = state.get("jump_to")
    if jump not in allowed:
        return "next"
    if jump == "tools":
        tasks = to_tools(state)
        return tasks if isinstance(tasks, list) else "next"
    return "model" if jump == "model" else "end"


def route_after_model(
    state: Any, *, allowed: Sequence[str], to_tools: Callable[[Any], list[Send] | AfterThink]
) -> Jump | list[Send] | AfterThink:
    """Return where the last hook after the model continues."""
    jump = state.get("jump_to")
    if jump in allowed and jump != "tools":
        return "model" if jump == "model" else "end"
    return to_tools(state)
