"""What a notebook shows of a run: updates, steps, plans and usage in the words of `manus show`.

A graph is drawn by the notebook itself, from Mermaid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from manus.formatting import cache_in_words, clean, count, flat
from manus.state.messages import text_of
from manus.state.plan import Plan, as_text
from manus.state.usage import Usage
from manus.trace.as_text import steps_as_text
from manus.trace.model import Call, Step
from manus.trace.reading import run_of_state, steps_in


class Shown:
    """Text to look at, or Markdown where it is drawn."""

    def __init__(self, *lines: str, markdown: str = "") -> None:
        self._text, self._markdown = clean("\n".join(lines)), markdown

    def __repr__(self) -> str:
        return self._text

    def _repr_markdown_(self) -> str | None:
        return self._markdown or None


def show_graph(graph: Any) -> Shown:
    """A graph's drawing: Mermaid, which JupyterLab draws by itself, offline."""
    from langchain_core.runnables.graph import NodeStyles

    # no colours of its own: LangGraph's pale boxes would hold a dark page's pale text
    styles = NodeStyles(default="line-height:1.2", first="fill-opacity:0", last="stroke-width:3px")
    mermaid = graph.get_graph().draw_mermaid(node_colors=styles)
    return Shown(mermaid, markdown=f"```mermaid\n{mermaid}\n```")


def show_update(node: str, update: Mapping[str, Any] | None) -> Shown:
    """What a node returned: a part of what `astream(…, stream_mode="updates")` yields."""
    values = update or {}
    messages = values.get("messages") or []
    steps = list(steps_in(messages))[-1:]
    if not steps and messages:
        observed = [
            Call("", m.name or "", {}, text_of(m), getattr(m, "status", "") == "error")
            for m in messages
            if not isinstance(m, AIMessage)
        ]
        steps = [Step(0, calls=observed)]
    told = {name: values[name] for name in ("status", "stop_reason") if values.get(name)}
    if values.get("loop"):
        told["loop"] = values["loop"]["what"]
    if values.get("usage"):
        told["usage"] = usage_line(values["usage"])
    said = (f"{name}: {flat(str(value))}" for name, value in told.items())
    return Shown(f"── {node}", *steps_as_text(steps), *said)


def show_run(values: Mapping[str, Any]) -> Shown:
    """All steps of the newest run in a state, and how it ended."""
    run = run_of_state(values)
    failed = run.status == "finished" and run.success is False
    parts = [run.status, run.stop_reason, "without success" if failed else ""]
    usage = usage_line(run.usage) if run.usage else ""
    head = " · ".join(filter(None, parts))
    plan = values.get("plan")  # of a flow, whose steps have conversations of their own
    steps = [as_text(plan)] if plan else steps_as_text(run.steps)
    return Shown(head, *steps, "", usage)


def show_plan(plan: Plan) -> Shown:
    """A plan: its text, as everywhere."""
    return Shown(as_text(plan))


def show_usage(usage: Usage) -> Shown:
    """What a run has used, by role where several models were asked."""
    roles = usage.get("roles") or {}
    rows = {"run": usage, **(roles if len(roles) > 1 else {})}
    return Shown(*(f"{name:<10} {usage_line(used)}" for name, used in rows.items()))


def usage_line(usage: Mapping[str, Any]) -> str:
    """`5 model calls, 6 tool calls, 10,018 tokens in (7,168 cached), 1,020 out, 0.4 s`."""
    parts = [count(usage.get("model_calls", 0), "model call")]
    if "tool_calls" in usage:
        parts.append(count(usage["tool_calls"], "tool call"))
    parts.append(f"{usage.get('input_tokens', 0):,} tokens in{cache_in_words(usage)}")
    parts.append(f"{usage.get('output_tokens', 0):,} out")
    if "seconds" in usage:
        parts.append(f"{usage['seconds']:.1f} s")
    if usage.get("cost") is not None:
        parts.append(f"cost {usage['cost']:.4f}")
    return ", ".join(parts)
