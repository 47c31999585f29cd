"""Show graphs, updates and runs in a notebook.

A run is HTML with steps that fold; as text it reads as in `manus show`. A graph is Mermaid, which
JupyterLab draws by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from manus.pages.report.cell import run_cell
from manus.pages.trace.as_text import steps_as_text
from manus.pages.trace.model import TraceCall, TraceStep
from manus.pages.trace.reading import run_of_state, steps_in
from manus.prompts.formatting import clean, flat, in_words, span
from manus.state.messages import text_of
from manus.state.plan import format_plan


class Shown:
    """An object that a notebook displays: as text, and as Markdown or HTML where it has that."""

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
            TraceCall("", m.name or "", {}, text_of(m), getattr(m, "status", "") == "error")
            for m in messages
            if not isinstance(m, AIMessage)
        ]
        steps = [TraceStep(0, calls=observed)]
    told = {name: values[name] for name in ("status", "stop_reason") if values.get(name)}
    if values.get("loop"):
        told["loop"] = values["loop"]["what"]
    said = (f"{name}: {flat(str(value))}" for name, value in told.items())
    return Shown(f"── {node}", *steps_as_text(steps), *said)


def show_run(values: Mapping[str, Any]) -> Shown:
    """Show the newest run in a state: steps that unfold, plan, images, diffs, answer.

    Args:
        values: what `invoke` returned, or the `values` of `get_state`. Of a flow they hold the plan
            and each step's result; the steps' own conversations are on the page of `manus report`.
    """
    run = run_of_state(values)
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
    return Shown(summary, *steps, html=run_cell(run, summary))
