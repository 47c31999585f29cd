"""The span of a tool call: `execute_tool {name}`."""

from __future__ import annotations

from langchain_core.messages import ToolMessage

from manus.state import tracing
from manus.state.agent import ToolTask
from manus.state.messages import text_of


def tool_span(task: ToolTask) -> tracing.Span:
    """The span of one call, from when it is asked for: waiting for another one's lock included."""
    if not tracing.is_on():
        return tracing.NOT_RECORDED
    attributes: dict[str, tracing.Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": task["name"],
        "gen_ai.tool.call.id": task["id"],
        "gen_ai.tool.type": "function",
    }
    if "step" in task:
        attributes["manus.step"] = task["step"]
    span = tracing.span(f"execute_tool {task['name']}", attributes)
    span.set_content("gen_ai.tool.call.arguments", lambda: task["args"])
    return span


def tell_outcome(
    span: tracing.Span, task: ToolTask, message: ToolMessage, *, is_known: bool
) -> None:
    """What came of it."""
    if not span.is_recorded:
        return
    span.set_content("gen_ai.tool.call.result", lambda: text_of(message))
    if message.status == "error":
        refused = "refused" if task.get("refusal") else "tool_error"
        span.fail(refused if is_known else "unknown_tool")
