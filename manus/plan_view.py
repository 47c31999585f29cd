"""The plan of a flow as it advances: redrawn on a terminal, else one line for each change."""

from __future__ import annotations

import time
from typing import Any

from manus.flow_usage import FlowUsage
from manus.formatting import in_words
from manus.screen import Screen
from manus.state.plan import Plan, as_text
from manus.state.plan_changes import changed_step
from manus.text import count, first_line, fit, flat, main_argument

_ROOM = 3
"""Lines of the terminal that are left free."""


class PlanView:
    """Shows the events of a flow's plan."""

    def __init__(self, screen: Screen, currency: str = "$") -> None:
        self._screen = screen
        self._currency = currency
        self._spending = FlowUsage()
        self._plan: Plan | None = None
        self._began: dict[int, float] = {}
        self._actions: dict[int, str] = {}

    @property
    def is_drawn(self) -> bool:
        """Whether there is a plan that is redrawn as it advances."""
        return self._plan is not None and self._screen.can_redraw

    def know(self, plan: Plan | None, usage: Any = None) -> None:
        """The plan as it stood before this process went on with it; nothing is shown."""
        self._plan = plan or None
        self._spending.begin(plan, usage)

    def on_plan(self, event: dict[str, Any]) -> None:
        """There is a plan, or another one than before."""
        self._plan = event["plan"]
        self._spending.begin(self._plan, event.get("spent"))
        if not self._draw():
            plan: Plan = event["plan"]
            steps = count(len(plan["steps"]), "step")
            self._line("plan", f"{event['why']}: {plan['title']} (ID: {plan['id']}), {steps}")

    def on_step(self, event: dict[str, Any]) -> None:
        """A step begins or has ended."""
        index, status = event["step"], event["status"]
        now = time.monotonic()
        seconds = now - self._began.get(index, now)
        if status == "in_progress":
            self._began[index] = now
            self._actions.pop(index, None)
        self._spending.on_step(index, status, event.get("spent"))
        self._change(index, status, event["notes"])
        if not self._draw():
            self._line(f"step {index}", self._said(event, seconds))

    def on_action(self, event: dict[str, Any]) -> None:
        """The executor of a step has done something; only seen where the plan is redrawn."""
        inner, index = event["event"], event["step"]
        self._spending.on_action(index, inner.get("spent"))
        if inner["type"] == "call":
            said = f"{inner['name']}: {main_argument(inner['args'])}"
        elif inner["type"] == "observation":
            said = f"{inner['name']} → {first_line(inner['text'])}"
        elif inner["type"] == "thought" and flat(inner["text"]):
            said = flat(inner["text"])
        elif inner["type"] == "retry":
            said = f"the model is asked again: {inner['reason']}"
        elif inner["type"] == "compaction":
            said = f"older turns were summed up: {inner['before']:,} → {inner['size']:,} tokens"
        else:
            return
        self._actions[index] = said
        self._draw()

    def _change(self, index: int, status: Any, notes: str) -> None:
        if self._plan is not None and index < len(self._plan["steps"]):
            changed: Any = {"step": index, "status": status, "notes": notes}
            self._plan = changed_step(self._plan, changed)

    def _said(self, event: dict[str, Any], seconds: float) -> str:
        steps = self._plan["steps"] if self._plan is not None else []
        text = flat(steps[event["step"]]["text"]) if event["step"] < len(steps) else ""
        if event["status"] == "in_progress":
            return f"begun by {event['executor']}: {text}"
        why = f": {flat(event['notes'])}" if event["notes"] else f": {text}"
        spent = in_words(self._spending.of_step(event["step"]), self._currency)
        took = ", ".join(part for part in (f"{seconds:.1f} s", spent) if part)
        return f"{event['status']}, {took}{why}"

    def _line(self, label: str, text: str) -> None:
        self._screen.line(f"{label:<8}{text}")

    def _draw(self) -> bool:
        """Draw the plan anew, where the screen can do that; whether it could."""
        if self._plan is None or not self._screen.can_redraw:
            return False
        self._screen.redraw(self._lines(self._plan))
        return True

    def _lines(self, plan: Plan) -> list[str]:
        """The plan's text, with what is being done below each step at work."""
        now, index, at_work = time.monotonic(), -1, 0
        lines: list[str] = []
        steps = False
        for line in as_text(plan).splitlines():
            lines.append(line)
            if line.startswith("Progress: ") and not steps:
                spent = in_words(self._spending.total, self._currency)
                lines[-1] = f"{line}, {spent}" if spent else line
            steps = steps or line == "Steps:"
            if not steps or not line.startswith(f"{index + 1}. "):
                continue
            index += 1
            lines[-1] = self._with_spent(line, self._spending.of_step(index))
            if plan["steps"][index]["status"] == "in_progress":
                seconds = now - self._began.get(index, now)
                lines.append(f"   {self._actions.get(index, 'thinking')} ({seconds:.0f} s)")
                at_work = at_work or len(lines)
        return _window(lines, at_work, self._screen.height - _ROOM)

    def _with_spent(self, line: str, used: Any) -> str:
        """A line and what was used, which stays whole when the line has to be cut."""
        spent = in_words(used, self._currency)
        if not spent:
            return line
        return f"{fit(flat(line), self._screen.width - len(spent) - 3)} ({spent})"


def _window(lines: list[str], place: int, height: int) -> list[str]:
    """So many of the lines as fit, around a place: what has scrolled away cannot be redrawn."""
    if len(lines) <= height:
        return lines
    head = lines[:5]
    first = min(max(place - height // 2, 5), len(lines) - (height - len(head)))
    return [*head, *lines[first : first + height - len(head)]]
