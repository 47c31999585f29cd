"""What became of a plan, told without a model."""

from __future__ import annotations

from manus.state.plan import Plan, Step, hindered_by, is_completed, shown_result
from manus.state.text import flat, one_line

_LINE = 200


def details_of(plan: Plan) -> list[str]:
    """Each step that was tried, with what came of it; those that a revision left out first."""
    dropped = [
        f"Tried and left out by a revision: {flat(step['text'])}\nNotes: {flat(step['notes'])}"
        for step in plan.get("dropped", [])
    ]
    tried = [
        shown_result(index, step)
        for index, step in enumerate(plan["steps"])
        if step["result"] or step["notes"]
    ]
    return [*dropped, *tried]


def lines_of(plan: Plan) -> list[str]:
    """The results of a run: one line a step."""
    steps = enumerate(plan["steps"])
    return [
        *(f"Step left out: {_line(step)}" for step in plan.get("dropped", [])),
        *(f"Step {index}: {_line(step)}" for index, step in steps),
    ]


def _line(step: Step) -> str:
    said = step["notes"] if step["status"] == "blocked" else ""
    if step["result"] is not None and not said:
        said = step["result"]["text"]
    line = f"{flat(step['text'])} ({step['status'].replace('_', ' ')})"
    return one_line(f"{line} → {said}" if said else line, _LINE)


def not_done(plan: Plan) -> str:
    """What was not done and why; empty if all was."""
    if is_completed(plan):
        return ""
    hindered = hindered_by(plan)
    lines = []
    for index, step in enumerate(plan["steps"]):
        if step["status"] == "completed":
            continue
        if step["status"] == "blocked":
            why = f"blocked: {flat(step['notes']) or 'no reason was given'}"
        elif index in hindered:
            why = f"given up, because it needs step {hindered[index]}, which is blocked"
        else:
            why = "not begun" if step["status"] == "not_started" else "begun and not ended"
        lines.append(f"- {index}. {flat(step['text'])} ({why})")
    return "Not done:\n" + "\n".join(lines)


def without_model(plan: Plan) -> str:
    """A summary made from the plan itself."""
    parts = []
    done = [s for s in plan["steps"] if s["status"] == "completed"]
    if done:
        lines = [f"- {flat(s['text'])}{_came_of(s)}" for s in done]
        parts.append("Done:\n" + "\n".join(lines))
    if rest := not_done(plan):
        parts.append(rest)
    return "\n\n".join(parts)


def _came_of(step: Step) -> str:
    result = step["result"]
    if result is None:
        return ""
    said = f": {flat(result['text'])}" if result["text"] else ""
    return f"{said} [{', '.join(result['files'])}]" if result["files"] else said
