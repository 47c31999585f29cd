"""What a notebook shows of a run: updates, steps, plans, usage.

Each function gives a `Shown`: HTML where a notebook draws it, plain text elsewhere. Nothing is
loaded from anywhere, there is no script in it, and it is as readable on a dark page as on a light
one, since the colour of texts is the page's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from manus.formatting import cache_in_words, clean, count, flat
from manus.run_report.page import asset, environment
from manus.state.messages import text_of
from manus.state.plan import Plan, as_text
from manus.state.usage import Usage
from manus.trace.as_text import steps_as_text
from manus.trace.model import Call, Step
from manus.trace.reading import run_of_state, steps_in


class Shown:
    """Something to look at, in each form that a notebook may want."""

    def __init__(self, text: str, html: str = "", markdown: str = "") -> None:
        self._text, self._html, self._markdown = clean(text), html, markdown

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str | None:
        return self._html or None

    def _repr_markdown_(self) -> str | None:
        return self._markdown or None


def _shown(lines: list[str], part: str, **values: Any) -> Shown:
    """The lines, and a macro of the notebook's template."""
    template = environment().get_template("notebook.html").module
    inside = getattr(template, part)(**values)
    html = template.frame(asset("steps.css"), inside)  # type: ignore[attr-defined]
    return Shown("\n".join(lines), str(html))


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
    usage = usage_line(values["usage"]) if values.get("usage") else ""
    lines = [f"── {node}", *steps_as_text(steps)]
    lines += [
        f"{name}: {flat(str(said))}" for name, said in {**told, "usage": usage}.items() if said
    ]
    return _shown(lines, "update", node=node, steps=steps, told=told, usage=usage)


def show_run(values: Mapping[str, Any]) -> Shown:
    """All steps of the newest run in a state, and how it ended."""
    run = run_of_state(values)
    failed = run.status == "finished" and run.success is False
    parts = [run.status, run.stop_reason, "without success" if failed else ""]
    head = " · ".join(filter(None, parts))
    usage = usage_line(run.usage) if run.usage else ""
    if plan := values.get("plan"):  # of a flow, whose steps have conversations of their own
        return _shown([head, as_text(plan), "", usage], "plan", plan=plan, text=as_text(plan))
    lines = [head, *steps_as_text(run.steps), "", usage]
    return _shown(lines, "run", head=head, run=run, usage=usage)


def show_plan(plan: Plan) -> Shown:
    """A plan: its text, as everywhere, and as a list with marks."""
    return _shown([as_text(plan)], "plan", plan=plan, text=as_text(plan))


def show_usage(usage: Usage) -> Shown:
    """What a run has used, by role where several models were asked."""
    roles = usage.get("roles") or {}
    rows = {"run": usage, **(roles if len(roles) > 1 else {})}
    lines = [f"{name:<10} {usage_line(used)}" for name, used in rows.items()]
    return _shown(lines, "figures", rows=lines)


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
