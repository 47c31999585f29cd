"""Show graphs, updates and runs in a notebook.

A run is rendered as HTML with foldable steps, and as text like `manus show`. A graph is a Mermaid
diagram, which JupyterLab draws without network access.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from manus.pages.report.page import run_cell
from manus.pages.trace.formats import steps_as_text
from manus.pages.trace.model import TraceCall, TraceStep
from manus.pages.trace.reading import read_run, steps_in
from manus.prompts.formatting import clean, flat, in_words, span
from manus.state.messages import get_text
from manus.state.plan import format_plan


class Display:
    """An object that notebooks display as HTML, Markdown or text."""

    def __init__(self, *lines: str, markdown: str = "", html: str = "") -> None:
        self._text = clean("\n".join(lines))
        self._markdown = markdown
        self._html = html

    def __repr__(self) -> str:
        return self._text

    def _repr_markdown_(self) -> str | None:
        return self._markdown or None

    def _repr_html_(self) -> str | None:
        return self._html or None


def show_graph(graph: Any) -> Display:
    """Show a graph as a Mermaid diagram."""
    from langchain_core.runnables.graph import NodeStyles

    # no fill colors: LangGraph's pale boxes are unreadable in a dark theme
    styles = NodeStyles(default="line-height:1.2", first="fill-opacity:0", last="stroke-width:3px")
    mermaid = graph.get_graph().draw_mermaid(node_colors=styles)
    return Display(mermaid, markdown=f"```mermaid\n{mermaid}\n```")


def show_update(node: str, update: Mapping[str, Any] | None) -> Display:
    """Show what a node returned, as in `astream(…, stream_mode="updates")`."""
    values = update or {}
    messages = values.get("messages") or []
    steps = list(steps_in(messages))[-1:]
    if not steps and messages:
        steps = [TraceStep(0, calls=_observed_calls(messages))]
    lines = []
    for name in ("status", "stop_reason"):
        if values.get(name):
            lines.append(f"{name}: {flat(str(values[name]))}")
    if values.get("loop"):
        lines.append(f"loop: {flat(str(values['loop']['what']))}")
    return Display(f"── {node}", *steps_as_text(steps), *lines)


def _observed_calls(messages: Sequence[AnyMessage]) -> list[TraceCall]:
    """Return a call, without arguments, for each message that is not the model's."""
    calls = []
    for message in messages:
        if not isinstance(message, AIMessage):
            is_error = getattr(message, "status", "") == "error"
            calls.append(TraceCall("", message.name or "", {}, get_text(message), is_error))
    return calls


def show_run(values: Mapping[str, Any]) -> Display:
    """Show the newest run in a state: foldable steps, plan, images, diffs, answer.

    Args:
        values: the result of `invoke`, or the `values` of `get_state`. For a flow they contain the
            plan and the result of each step; `manus report` also shows the steps' conversations.
    """
    run = read_run(values)
    is_failure = run.status == "finished" and run.success is False
    parts = [
        run.status,
        run.stop_reason,
        "without success" if is_failure else "",
        in_words(run.usage, "$"),
        span(run.usage.get("seconds", 0.0)),
    ]
    summary = " · ".join(part for part in parts if part)
    plan = values.get("plan")
    steps = [format_plan(plan)] if plan else steps_as_text(run.steps)
    return Display(summary, *steps, html=run_cell(run, summary))
