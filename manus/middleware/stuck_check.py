"""Detect loops in any LangChain agent: a hint, then refused calls, then the end of the run."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from manus.nodes.exchange.loop_detection import (
    call_fingerprint,
    find_loop,
    is_refused,
    newest_step,
    next_loop,
)
from manus.prompts import agent as prompts
from manus.state.agent import Loop, TrailEntry
from manus.state.messages import CALL_FACTS, is_from_user, is_reply

Result = ToolMessage | Command[Any]

_WINDOW = 100
"""Number of newest messages that are compared."""


class StuckCheck(AgentMiddleware):
    """Middleware that ends loops like the agent of manus, with the same detection.

    A repetition of calls with the same results adds a hint to the next request, which is not
    stored. If the loop continues, its calls are refused, and then the run ends with a message that
    says why. The loop is derived from the messages, so a resumed run continues with the next
    measure.

    Example:
        agent = create_agent(model, tools, middleware=[StuckCheck()])
    """

    def __init__(self) -> None:
        """Create the middleware."""
        super().__init__()
        self.tools = []

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Ask the model, with a hint after a loop; or end the run."""
        loop = find_current_loop(_get_messages(request.state))
        if loop is not None and loop["measure"] == "ask":
            return _end(loop)
        return handler(_with_hint(request, loop))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage:
        """Ask the model, with a hint after a loop; or end the run."""
        loop = find_current_loop(_get_messages(request.state))
        if loop is not None and loop["measure"] == "ask":
            return _end(loop)
        return await handler(_with_hint(request, loop))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]
    ) -> Result:
        """Execute a call unless it continues a loop."""
        refusal = _refuse(request)
        if refusal is not None:
            return refusal
        started_at = time.monotonic()
        return _with_seconds(handler(request), started_at)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """Execute a call unless it continues a loop."""
        refusal = _refuse(request)
        if refusal is not None:
            return refusal
        started_at = time.monotonic()
        return _with_seconds(await handler(request), started_at)


def find_current_loop(messages: Sequence[AnyMessage]) -> Loop | None:
    """Return the loop that the agent is in after its last finished step, or None."""
    window = list(messages[-_WINDOW:])
    loop: Loop | None = None
    trail: list[TrailEntry] = []
    start = 0
    for index, message in enumerate(window):
        if is_from_user(message):
            start = index + 1
            trail = []
            loop = None
        following = window[index + 1] if index + 1 < len(window) else None
        if index < start or isinstance(following, ToolMessage):
            continue
        newest = newest_step(window[start : index + 1], loop, index)
        trail += newest.entries
        loop = next_loop(loop, find_loop(trail, len(newest.entries), newest.result), newest, index)
    return loop


def _get_messages(state: Any) -> Sequence[AnyMessage]:
    messages: Sequence[AnyMessage]
    messages = state["messages"] if isinstance(state, dict) else state.messages
    return messages


def _with_hint(request: ModelRequest[Any], loop: Loop | None) -> ModelRequest[Any]:
    """Return the request, with a hint at its end if the last step continued a loop."""
    if loop is None:
        return request
    hint = prompts.polling_hint if loop["kind"] == "polling" else prompts.loop_hint
    return request.override(messages=[*request.messages, HumanMessage(hint(loop["what"]))])


def _refuse(request: ToolCallRequest) -> ToolMessage | None:
    """Return the message of a call that is refused; None if the call is not."""
    call = request.tool_call
    messages = list(_get_messages(request.state))
    while messages and not is_reply(messages.pop()):  # the calls that are being executed
        pass
    loop = find_current_loop(messages)
    if loop is None or not is_refused(call_fingerprint(call["name"], call["args"]), loop):
        return None
    text = prompts.loop_refused(loop["what"])
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")


def _with_seconds(result: Result, started_at: float) -> Result:
    """Record the duration of a call in its message, since waiting is not a loop."""
    if isinstance(result, ToolMessage):
        seconds = round(time.monotonic() - started_at, 1)
        result.additional_kwargs.setdefault(CALL_FACTS, {"seconds": seconds})
    return result


def _end(loop: Loop) -> AIMessage:
    """Return the message with which the run ends."""
    return AIMessage(prompts.describe_stuck_end(loop["what"]))
