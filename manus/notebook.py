"""What a notebook shows of a run: updates, steps, plans, usage, two runs side by side.

Each function gives a `Shown`: HTML where a notebook draws it, plain text elsewhere. Nothing is
loaded from anywhere, there is no script in it, and it is as readable on a dark page as on a light
one, since colours of text are the page's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from manus.compare import Comparison, Row
from manus.formatting import cache_in_words
from manus.notebook_html import (
    bar,
    block,
    call_html,
    escaped,
    figures_table,
    plan_html,
    side_by_side,
    step_html,
)
from manus.state.agent import Usage
from manus.state.plan import Plan, as_text
from manus.steps import Call, Step, step_in, steps_of
from manus.text import clean, count, fit, flat, main_argument

_WIDTH = 96
"""Cells of a line of plain text."""


class Shown:
    """Something to look at, in each form that a notebook may want."""

    def __init__(self, text: str, html: str = "", markdown: str = "") -> None:
        self._data = {
            "text/plain": clean(text),
            **({"text/html": html} if html else {}),
            **({"text/markdown": markdown} if markdown else {}),
        }

    def __repr__(self) -> str:
        return self._data["text/plain"]

    def _repr_html_(self) -> str | None:
        return self._data.get("text/html")

    def _repr_markdown_(self) -> str | None:
        return self._data.get("text/markdown")


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
    step = step_in(messages)
    lines, parts = [f"── {node}"], [f"<b>{escaped(node)}</b>"]
    if step is not None:
        lines += _step_lines(step)
        parts.append(step_html(step))
    else:
        for message in messages:
            call = _observed(message)
            lines.append(f"   observation  {_fitted(call.gist)}")
            parts.append(call_html(call))
    for name in ("status", "stop_reason", "loop"):
        if values.get(name):
            said = values[name]["what"] if name == "loop" else values[name]
            lines.append(f"   {name:<12} {_fitted(flat(str(said)))}")
            parts.append(f"<div>{escaped(name)}: <b>{escaped(str(said))}</b></div>")
    if usage := values.get("usage"):
        lines.append(f"   usage        {usage_line(usage)}")
        parts.append(bar(usage_line(usage)))
    return Shown("\n".join(lines), block(*parts))


def show_run(values: Mapping[str, Any]) -> Shown:
    """All steps of the newest run in a state, and how it ended."""
    steps = steps_of(values)
    head = f"{values.get('status') or 'idle'}"
    if values.get("stop_reason"):
        head += f" · {values['stop_reason']}"
    if values.get("success") is False and values.get("status") == "finished":
        head += " · without success"
    lines, parts = [head], [f"<b>{escaped(head)}</b>"]
    for step in steps:
        lines += [f"Step {step.number}", *_step_lines(step)]
        parts.append(step_html(step, title=f"Step {step.number}"))
    if usage := values.get("usage"):
        lines.append(usage_line(usage))
        parts.append(bar(usage_line(usage)))
    return Shown("\n".join(lines), block(*parts))


def show_plan(plan: Plan) -> Shown:
    """A plan: its text, as everywhere, and as a list with marks."""
    return Shown(as_text(plan), plan_html(plan))


def show_usage(usage: Usage) -> Shown:
    """What a run has used, by role where several models were asked."""
    roles = usage.get("roles") or {}
    rows = [("run", usage), *(roles.items() if len(roles) > 1 else ())]
    text = "\n".join(f"{name:<10} {usage_line(used)}" for name, used in rows)
    told = [key for key in _FIGURES if key != "cache_write_tokens" or usage.get(key)]
    shown = [(name, [_figure(used, key) for key in told]) for name, used in rows]
    return Shown(text, figures_table(["", *(_FIGURES[key] for key in told)], shown))


def show_comparison(comparison: Comparison) -> Shown:
    """Two runs side by side, step by step, and the figures of both."""
    names = (comparison.left.name, comparison.right.name)
    figures = [
        (title, [_number(title, left), _number(title, right), _number(title, right - left, "+")])
        for title, left, right in comparison.figures()
    ]
    said = where_they_part(comparison)
    lines = [said, *_compared_lines(comparison)]
    width = max(len(title) for title, _ in figures)
    lines += [f"{title:<{width}} {one:>12} {two:>12}" for title, (one, two, _) in figures]
    html = block(
        f"<div><b>{escaped(said)}</b></div>",
        side_by_side(comparison.rows, names),
        figures_table(["", *names, "difference"], figures),
    )
    return Shown("\n".join(lines), html)


def where_they_part(comparison: Comparison) -> str:
    """In a sentence: the step in which the two runs do something else."""
    row = comparison.parted
    if row is None:
        other = comparison.first_result
        if other is None or other.left is None:
            return "Both runs do the same."
        return f"Both do the same; step {other.left.number} comes to another result."
    left, right = comparison.left.name, comparison.right.name
    if row.left is None and row.right is not None:
        return f"They part where {right} has a step {row.right.number} that {left} has not."
    if row.right is None and row.left is not None:
        return f"They part where {left} has a step {row.left.number} that {right} has not."
    return f"They part at step {_numbers(row)}."


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


_FIGURES = {
    "model_calls": "model calls",
    "tool_calls": "tool calls",
    "input_tokens": "tokens in",
    "cached_tokens": "cached",
    "cache_write_tokens": "written to the cache",
    "output_tokens": "tokens out",
    "seconds": "seconds",
    "cost": "cost",
}


def _figure(used: Mapping[str, Any], key: str) -> str:
    value = used.get(key)
    return "" if value is None else _number(_FIGURES[key], value)


def _number(title: str, value: float, sign: str = "") -> str:
    places = {"seconds": 1, "cost": 4}.get(title, 0)
    said = f"{value:{sign},.{places}f}"
    return said if said.strip("+-0.,") or not sign else "="


def _observed(message: Any) -> Call:
    return Call(
        str(getattr(message, "name", None) or ""),
        {},
        str(message.text),
        getattr(message, "status", "") == "error",
    )


def _step_lines(step: Step) -> Iterator[str]:
    if step.thought:
        yield f"   thought      {_fitted(flat(step.thought))}"
    for call in step.calls:
        yield f"   call         {_fitted(f'{call.name}: {main_argument(call.args)}')}"
        if call.observation is not None:
            word = "error      " if call.is_error else "observation"
            yield f"   {word}  {_fitted(call.gist)}"


def _fitted(line: str) -> str:
    return fit(clean(line), _WIDTH - 16)


def _compared_lines(comparison: Comparison) -> Iterable[str]:
    marks = {"same": "=", "result": "~", "calls": "≠", "left": "<", "right": ">"}
    half = (_WIDTH - 4) // 2
    for row in comparison.rows:
        left, right = (_brief(step) for step in (row.left, row.right))
        yield f"{_padded(left, half)} {marks[row.sameness]} {fit(right, half)}"


def _padded(line: str, width: int) -> str:
    from rich.cells import cell_len

    cut = fit(line, width)
    return cut + " " * (width - cell_len(cut))


def _brief(step: Step | None) -> str:
    if step is None:
        return ""
    called = "; ".join(f"{call.name}: {main_argument(call.args)}" for call in step.calls)
    return f"{step.number}. {called or flat(step.thought)}"


def _numbers(row: Row) -> str:
    numbers = {step.number for step in (row.left, row.right) if step is not None}
    return " / ".join(map(str, sorted(numbers)))
