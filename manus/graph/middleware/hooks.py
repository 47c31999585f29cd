"""The hooks of LangChain's middleware as graph nodes, in their synchronous or async form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from manus.models.endpoint_call import IS_SYNC
from manus.state.endings import get_ending
from manus.state.history import as_messages
from manus.state.messages import (
    CALL_FACTS,
    FROM_TOOL,
)

Middleware = AgentMiddleware[Any, Any, Any]
HookNode = Callable[[Any, Runtime[Any]], Awaitable[Any]]


def overrides(middleware: Middleware, hook: str) -> bool:
    """Return whether a middleware defines a hook, in either form."""
    return _has(middleware, hook) or _has(middleware, f"a{hook}")


def _has(middleware: Middleware, method: str) -> bool:
    return getattr(type(middleware), method) is not getattr(AgentMiddleware, method)


def is_called_sync(middleware: Middleware, hook: str) -> bool:
    """Return whether the synchronous form of a hook is called.

    It is called in a run started by `invoke`, and if there is no asynchronous form.
    """
    if not _has(middleware, f"a{hook}"):
        return True
    return IS_SYNC.get() and _has(middleware, hook)


async def call_wrapper(
    middleware: Middleware, hook: str, request: Any, handler: Callable[[Any], Awaitable[Any]]
) -> Any:
    """Call `wrap_model_call` or `wrap_tool_call`; the synchronous form in a thread."""
    if not is_called_sync(middleware, hook):
        return await getattr(middleware, f"a{hook}")(request, handler)
    loop = asyncio.get_running_loop()

    async def handle(changed: Any) -> Any:
        return await handler(changed)

    def handle_in_loop(changed: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(handle(changed), loop).result()

    return await asyncio.to_thread(getattr(middleware, hook), request, handle_in_loop)


def hook_node(middleware: Middleware, hook: str) -> HookNode:
    """Return the node of a hook: `before_agent`, `before_model`, `after_model`, `after_agent`."""

    async def run_hook(state: Any, runtime: Runtime[Any]) -> Any:
        if is_called_sync(middleware, hook):
            update = await asyncio.to_thread(getattr(middleware, hook), state, runtime)
        else:
            update = await getattr(middleware, f"a{hook}")(state, runtime)
        if isinstance(update, Mapping):
            return _adapt(middleware, hook, state, dict(update))
        if isinstance(update, Command) and isinstance(update.update, Mapping):
            update.update = _adapt(middleware, hook, state, dict(update.update))
        return update

    run_hook.__name__ = f"{middleware.name}.{hook}"
    return run_hook


def _adapt(
    middleware: Middleware, hook: str, state: Mapping[str, Any], update: dict[str, Any]
) -> dict[str, Any]:
    """Return the update of a hook in the terms of the agent's state."""
    if update.get("messages") is not None:
        existing = state.get("messages", [])
        update["messages"] = mark_authors(middleware, existing, update["messages"])
    if hook == "after_agent" and update.get("jump_to") == "model":
        ending = get_ending(state.get("stop_reason"), success=True)
        if not ending.hooks_continue or _is_last_step(state):
            del update["jump_to"]
        else:
            update |= {"stop_reason": None, "success": None, "status": "thinking"}
    return update


def _is_last_step(state: Mapping[str, Any]) -> bool:
    run = state.get("run")
    return run is not None and run["step"] >= run["max_steps"]


def mark_authors(
    middleware: Middleware, existing: Sequence[AnyMessage], writes: Any
) -> list[BaseMessage]:
    """Mark new messages in the name of the user or of a tool as those of the middleware.

    Otherwise the first would start another run, with its text as the user's, and the second would
    count as an executed call.
    """
    existing_ids = {message.id for message in existing}
    marked: list[BaseMessage] = []
    for message in as_messages(writes):
        is_new = message.id is None or message.id not in existing_ids
        if isinstance(message, HumanMessage) and is_new:
            kwargs = {FROM_TOOL: middleware.name, **message.additional_kwargs}
            message = message.model_copy(update={"additional_kwargs": kwargs})
        elif isinstance(message, ToolMessage) and is_new:
            kwargs = {CALL_FACTS: {"executed": False}, **message.additional_kwargs}
            message = message.model_copy(update={"additional_kwargs": kwargs})
        marked.append(message)
    return marked


def list_jumps(middleware: Middleware, hook: str) -> tuple[str, ...]:
    """Return the destinations that a hook declares in `can_jump_to`."""
    for method in (hook, f"a{hook}"):
        if _has(middleware, method):
            jumps = getattr(getattr(type(middleware), method), "__can_jump_to__", None)
            if jumps:
                return tuple(jumps)
    return ()
