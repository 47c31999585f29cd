"""Call a tool without locks or journal, and convert errors to observations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.runtime import get_runtime
from pydantic import BaseModel, ValidationError

from manus.calls.base import AgentTool, explain_arguments, explain_exit, is_model, wrap_exit
from manus.calls.result import Observation, as_observation
from manus.config.context import is_watched
from manus.state.errors import ManusError, ToolError

log = logging.getLogger("manus")

_FOREIGN_TIME_LIMIT = 300.0
"""Timeout in seconds of foreign tools."""


async def observe_call(
    tool: BaseTool,
    args: Mapping[str, Any],
    call_id: str = "call",
    config: RunnableConfig | None = None,
) -> Observation:
    """Call a tool and return its result or error as an observation, without lock or journal.

    Raises:
        GraphBubbleUp: the tool interrupts the graph.
        asyncio.CancelledError: the run itself is being cancelled.
    """
    limit = tool.time_limit if isinstance(tool, AgentTool) else _FOREIGN_TIME_LIMIT
    try:
        async with asyncio.timeout(limit) as clock:
            if isinstance(tool, AgentTool) and not (tool.callbacks or is_watched(config)):
                return await _observe_directly(tool, args)
            return await _invoke(tool, args, call_id, config)
    except GraphBubbleUp:
        raise
    except SystemExit as error:
        text = explain_exit(error)
        return replace(failure(text), error=ToolException(text))
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
        return failure(f"`{tool.name}` was cancelled before it finished.")
    except Exception as error:  # noqa: BLE001 - any error of a tool is reported to the model
        if isinstance(error, TimeoutError) and clock.expired():
            text = f"`{tool.name}` timed out after {limit:g} s and was cancelled."
            return replace(failure(text), error=error)
        source = error.source if isinstance(error, ToolError) else ""
        observation = replace(failure(_describe_error(tool, error)), source=source)
        if isinstance(error, ToolInvocationError) or _is_about_arguments(tool, error):
            return observation  # a retry with the same arguments would fail again
        return replace(observation, error=error)


async def _observe_directly(tool: AgentTool, args: Mapping[str, Any]) -> Observation:
    """Call one of our tools without LangChain's wrapper, if there are no callbacks."""
    schema = tool.args_schema
    arguments = dict(args)
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        valid = schema.model_validate(arguments)
        arguments = {name: getattr(valid, name) for name in schema.model_fields}
    return await tool.observe(**arguments)


async def _invoke(
    tool: BaseTool, args: Mapping[str, Any], call_id: str, config: RunnableConfig | None
) -> Observation:
    """Call any LangChain tool as LangGraph's own ToolNode does.

    State, store, runtime and call id are injected where the tool asks for them.
    """
    call = {"type": "tool_call", "id": call_id, "name": tool.name, "args": dict(args)}
    if isinstance(tool, AgentTool):
        return as_observation(await tool.ainvoke(call, config), call_id)
    try:
        get_runtime()
    except (RuntimeError, KeyError):  # outside a graph
        return as_observation(await wrap_exit(tool).ainvoke(call, config), call_id)
    node = _build_node(_Identity(tool))
    return as_observation(await node.ainvoke([call], config), call_id)


class _Identity:
    """A tool as a key: tools cannot be hashed."""

    def __init__(self, tool: BaseTool) -> None:
        self.tool = tool

    def __hash__(self) -> int:
        return id(self.tool)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.tool is other.tool


@lru_cache(128)
def _build_node(key: _Identity) -> ToolNode:
    """Return the node of a foreign tool; to build it takes as long as a call of the tool."""
    return ToolNode([wrap_exit(key.tool)], handle_tool_errors=False)


def failure(text: str) -> Observation:
    """Return the observation of a call that failed."""
    return Observation(text, is_error=True)


def refusal(text: str) -> Observation:
    """Return the observation of a call that was not executed."""
    return Observation(text, is_error=True, executed=False)


def _describe_error(tool: BaseTool, error: Exception) -> str:
    if isinstance(error, ToolInvocationError):
        error = error.source
    if isinstance(error, ValidationError) and _is_about_arguments(tool, error):
        return explain_arguments(tool, error)
    text = str(error).strip()
    kind = type(error).__name__
    if isinstance(error, ToolError | ToolException) and text:
        return text
    if not isinstance(error, ManusError):
        # the model gets the message; the traceback goes to the log
        log.info("tool %s raised", tool.name, exc_info=error)
    return f"`{tool.name}` failed: {kind}: {text}" if text else f"`{tool.name}` failed: {kind}."


def _is_about_arguments(tool: BaseTool, error: Exception) -> bool:
    """Return whether an error is about the arguments rather than data that the tool has read."""
    if not isinstance(error, ValidationError):
        return False
    schema = tool.args_schema
    return is_model(schema) and error.title in (schema.__name__, schema.model_config.get("title"))
