"""What a notebook shows of a run: updates, steps and plans in the words of `manus show`.

A graph is drawn by the notebook itself, from Mermaid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from manus.formatting import clean, flat, in_words, span
from manus.state.messages import text_of
from manus.state.plan import as_text
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
    said = (f"{name}: {flat(str(value))}" for name, value in told.items())
    return Shown(f"── {node}", *steps_as_text(steps), *said)


def show_run(values: Mapping[str, Any]) -> Shown:
    """All steps of the newest run in a state, or its plan; how it ended, and what it used."""
    run = run_of_state(values)
    failed = run.status == "finished" and run.success is False
    parts = [run.status, run.stop_reason, "without success" if failed else ""]
    used = in_words(run.usage, "$"), span(run.usage.get("seconds", 0.0))
    plan = values.get("plan")  # of a flow, whose steps have conversations of their own
    steps = [as_text(plan)] if plan else steps_as_text(run.steps)
    return Shown(" · ".join(filter(None, [*parts, *used])), *steps)
