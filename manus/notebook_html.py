"""The HTML that a notebook is shown. Every text is escaped; styles stand where they are used."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from manus.compare import Row
from manus.state.plan import MARKS, Plan, StepStatus, count_of
from manus.steps import Call, Step
from manus.text import clean, count, main_argument

# Half-transparent greys are seen on light and on dark; text has the page's colour.
_BOX = (
    "border:1px solid rgba(128,128,128,.35);border-radius:6px;padding:.5em .8em;margin:.4em 0;"
    "overflow-wrap:anywhere;text-align:left"
)
_PRE = (
    "margin:.3em 0;padding:.5em .7em;background:rgba(128,128,128,.13);color:inherit;"
    "border-radius:4px;white-space:pre-wrap;overflow-wrap:anywhere;max-height:20em;overflow:auto;"
    "font-size:.92em"
)
_CELL = "text-align:left;vertical-align:top;padding:.25em .7em;white-space:normal"
_NUMBER = "text-align:right;padding:.15em .8em;font-variant-numeric:tabular-nums"
_QUIET = "opacity:.75;font-size:.92em"
_FORMULA = re.compile(r"[$\\]")
_LONG = 200
"""Characters above which a text is folded."""
_MOST = 20_000
"""Characters of a text that a notebook is given; all of it is in the state."""
_COLOURS: dict[str, str] = {
    "completed": "#2a9d5c",
    "in_progress": "#3f7fd1",
    "blocked": "#d64545",
    "not_started": "#8a8a8a",
    "same": "transparent",
    "result": "#d69a2d",
    "calls": "#d64545",
    "left": "#3f7fd1",
    "right": "#3f7fd1",
}
_ORDER: tuple[StepStatus, ...] = ("completed", "in_progress", "blocked", "not_started")
_SIGNS = {"same": "=", "result": "~", "calls": "≠", "left": "←", "right": "→"}
_WORDS = {
    "same": "the same",
    "result": "the same calls, another result",
    "calls": "other calls",
    "left": "in the left one only",
    "right": "in the right one only",
}


def escaped(text: str) -> str:
    """Text as HTML, without what a terminal or a page could take for a command.

    Notebooks take what stands between two dollar signs, or behind a backslash, for a formula; not
    so if each of these signs is in an element of its own.
    """
    return _FORMULA.sub(r"<span>\g<0></span>", html.escape(clean(text)))


def block(*parts: str) -> str:
    """Parts in a frame."""
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def bar(text: str) -> str:
    """A quiet line."""
    return f'<div style="{_QUIET}">{escaped(text)}</div>'


def step_html(step: Step, title: str = "") -> str:
    """A step: what was thought, and its calls with what came of them, folded."""
    tokens = f' <span style="{_QUIET}">{count(step.tokens, "token")}</span>' if step.tokens else ""
    head = f"<div><b>{escaped(title)}</b>{tokens}</div>" if title else ""
    thought = f"<div>{escaped(step.thought)}</div>" if step.thought else ""
    inner = "".join(map(call_html, step.calls))
    return f'<div style="margin:.5em 0">{head}{thought}{inner}</div>'


def call_html(call: Call) -> str:
    """A call in a line that unfolds to its arguments and its observation."""
    args = "" if call.args in ({}, None, "") else f" {_short(main_argument(call.args))}"
    came = "" if call.observation is None else call.gist
    sign = "✗ " if call.is_error else "→ "
    summary = f"<code>{escaped(call.name)}</code>{escaped(args)}"
    if came:
        summary += (
            f'<br><span style="{_QUIET};margin-left:1em">{escaped(sign + _short(came))}</span>'
        )
    inside = _arguments(call.args) + (_pre(call.observation) if call.observation else "")
    return f'<details style="margin:.25em 0"><summary>{summary}</summary>{inside}</details>'


def _arguments(args: Any) -> str:
    if args in ({}, None, ""):
        return ""
    if not isinstance(args, dict):
        return _pre(str(args))
    shown = [
        f"{name}:\n{value}" if "\n" in str(value) else f"{name}: {_plain(value)}"
        for name, value in args.items()
    ]
    return _pre("\n".join(shown))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _pre(text: str) -> str:
    left = len(text) - _MOST
    cut = f"{text[:_MOST]}\n(… {left:,} more characters)" if left > 0 else text
    return f'<pre style="{_PRE}">{escaped(cut)}</pre>'


def _short(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def plan_html(plan: Plan) -> str:
    """A plan with a mark and a coloured edge for each step."""
    counts, total = count_of(plan), len(plan["steps"])
    share = 100 * counts["completed"] / total if total else 0.0
    said = ", ".join(f"{counts[status]} {status.replace('_', ' ')}" for status in _ORDER)
    head = (
        f"<div><b>{escaped(plan['title'])}</b></div>"
        '<div style="height:4px;margin:.4em 0;background:rgba(128,128,128,.25);border-radius:2px">'
        f'<div style="height:4px;width:{share:.1f}%;background:{_COLOURS["completed"]};'
        'border-radius:2px"></div></div>' + bar(said)
    )
    return block(head, *(_plan_step(i, plan) for i in range(total)))


def _plan_step(index: int, plan: Plan) -> str:
    step = plan["steps"][index]
    status: StepStatus = step["status"]
    after = [str(i) for i in step["depends_on"]]
    notes = [f"by {step['executor']}"] if step["executor"] else []
    notes += [f"after {', '.join(after)}"] if after else []
    notes += [step["notes"]] if step["notes"] else []
    result = step["result"]
    files = f"\nFiles: {', '.join(result['files'])}" if result and result["files"] else ""
    text = result["text"] + files if result else ""
    inner = f"<details><summary>result</summary>{_pre(text)}</details>" if text else ""
    return (
        f'<div style="border-left:4px solid {_COLOURS[status]};padding-left:.7em;margin:.4em 0">'
        f"<div>{index}. <code>{escaped(MARKS[status])}</code> {escaped(step['text'])}</div>"
        f"{bar(' · '.join(notes)) if notes else ''}{inner}</div>"
    )


def figures_table(head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Names and figures; columns in which there is none are left out."""
    listed = [(name, list(cells)) for name, cells in rows]
    kept = [i for i in range(len(head) - 1) if any(cells[i] for _, cells in listed)]
    titles = "".join(f'<th style="{_NUMBER}">{escaped(head[i + 1])}</th>' for i in kept)
    body = "".join(
        f'<tr><th style="{_CELL}">{escaped(name)}</th>'
        + "".join(f'<td style="{_NUMBER}">{escaped(cells[i])}</td>' for i in kept)
        + "</tr>"
        for name, cells in listed
    )
    return f"<table><thead><tr><th></th>{titles}</tr></thead><tbody>{body}</tbody></table>"


def side_by_side(rows: Iterable[Row], names: tuple[str, str]) -> str:
    """Two runs, a row for each step, with a sign between them that says how they compare."""
    body = "".join(map(_compared, rows))
    head = f"<th style='{_CELL}'>{escaped(names[0])}</th><th></th>"
    head += f"<th style='{_CELL}'>{escaped(names[1])}</th>"
    return (
        '<table style="width:100%;table-layout:fixed"><colgroup><col><col style="width:2.5em">'
        f"<col></colgroup><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _compared(row: Row) -> str:
    cells = [
        f'<td style="{_CELL};overflow-wrap:anywhere">'
        + (step_html(step, title=f"Step {step.number}") if step else "")
        + "</td>"
        for step in (row.left, row.right)
    ]
    edge = f"border-left:3px solid {_COLOURS[row.sameness]}"
    sign = (
        f'<td style="text-align:center;vertical-align:top;{edge}" '
        f'title="{_WORDS[row.sameness]}">{_SIGNS[row.sameness]}</td>'
    )
    return f"<tr>{cells[0]}{sign}{cells[1]}</tr>"
