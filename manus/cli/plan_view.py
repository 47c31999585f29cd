"""The plan of a flow as it advances: redrawn on a terminal, else one line for each change."""

from __future__ import annotations

import time
from typing import Any

from manus.cli.screen import Screen
from manus.prompts.formatting import clean, count, fit, flat, gist, in_words, main_argument
from manus.state.plan import Plan, format_plan
from manus.state.plan_changes import change_step

_ROOM = 3
"""Lines of the terminal that are left free."""
_HEAD = 7
"""Lines of a plan before its first step."""


class PlanView:
    """Shows the events of a flow's plan."""

    def __init__(self, screen: Screen, currency: str = "$") -> None:
        self._screen = screen
        self._currency = currency
        self.plan: Plan | None = None
        """As far as it is known: before its first event, as a run that is gone on with left it."""
        self._began: dict[int, float] = {}
        self._actions: dict[int, str] = {}
        self._used: dict[int, dict[str, Any]] = {}
        """By step: what its executor has used in this run of it."""
        self.shown = ""
        """What is drawn of it on the terminal."""

    @property
    def is_drawn(self) -> bool:
        """Whether there is a plan that is redrawn as it advances."""
        return self.plan is not None and self._screen.can_redraw

    def on_plan(self, event: dict[str, Any]) -> None:
        """There is a plan, or another one than before."""
        plan: Plan = event["plan"]
        self.plan = plan
        steps = count(len(plan["steps"]), "step")
        self._show("plan", f"{event['why']}: {plan['title']} (ID: {plan['id']}), {steps}")

    def on_step(self, event: dict[str, Any]) -> None:
        """Show a step that starts, is set aside with a question, or has ended."""
        index = event["step"]
        status = event["status"]
        question = flat(event.get("question", ""))
        if question:
            self._actions[index] = f"waits for your answer: {question}"
        elif status == "in_progress":
            self._began[index] = time.monotonic()
            self._actions.pop(index, None)
        if self.plan is not None and index < len(self.plan["steps"]):
            changed: Any = {"step": index, "status": status, "notes": event["notes"]}
            self.plan = change_step(self.plan, changed)
        self._show(f"step {index}", self._said(event))

    def on_action(self, event: dict[str, Any]) -> None:
        """The executor of a step has done something; only seen where the plan is redrawn."""
        inner = event["event"]
        index = event["step"]
        self._used[index] = inner.get("spent", self._used.get(index, {}))
        if said := said_of(inner):
            self._actions[index] = said

    def _said(self, event: dict[str, Any]) -> str:
        index = event["step"]
        steps = self.plan["steps"] if self.plan is not None else []
        text = flat(steps[index]["text"]) if index < len(steps) else ""
        if question := flat(event.get("question", "")):
            return f"waits for your answer, other steps go on first: {question}"
        if event["status"] == "in_progress":
            return f"begun by {event['executor']}: {text}"
        spent = in_words(self._used.get(index, {}), self._currency)
        took = f"{self._seconds(index):.1f} s{spent and f', {spent}'}"
        return f"{event['status']}, {took}: {flat(event['notes']) or text}"

    def _seconds(self, index: int) -> float:
        now = time.monotonic()
        return now - self._began.get(index, now)

    def _show(self, label: str, text: str) -> None:
        """The plan as it is now; where nothing is redrawn, a line on what has changed."""
        if self.is_drawn:
            self._screen.pin(self._lines)
            self.shown = "\n".join(self._lines())
        else:
            self._screen.line(f"{label:<8}{text}")

    def _lines(self) -> list[str]:
        """The plan's text, with what is being done below each step at work."""
        if self.plan is None:
            return []
        text = clean(format_plan(self.plan)).splitlines()
        head = text[:_HEAD]
        rest = iter(text[_HEAD:])
        lines: list[str] = []
        at_work = 0
        for index, step in enumerate(self.plan["steps"]):
            lines.append(self._with_spent(next(rest), self._used.get(index, {})))
            if step["notes"]:
                lines.append(next(rest))
            if step["status"] == "in_progress":
                doing = self._actions.get(index, "thinking")
                lines.append(f"   {doing} ({self._seconds(index):.0f} s)")
                at_work = at_work or len(lines)
        # what has scrolled away cannot be redrawn: as many steps as fit, around those at work
        room = max(max(self._screen.console.height, 8) - _ROOM - len(head), 1)
        first = max(0, min(at_work - room // 2, len(lines) - room))
        return [*head, *lines[first : first + room]]

    def _with_spent(self, line: str, used: Any) -> str:
        """A line and what was used, which stays whole when the line has to be cut."""
        if not (spent := in_words(used, self._currency)):
            return line
        return f"{fit(flat(line), self._screen.console.width - len(spent) - 3)} ({spent})"


def said_of(event: dict[str, Any]) -> str:
    """What an agent inside a run has done, in one line; empty where it says nothing new."""
    match event:
        case {"type": "call", "name": name, "args": args}:
            return f"{name}: {main_argument(args)}"
        case {"type": "observation", "name": name, "text": text}:
            return f"{name} → {gist(text)}"
        case {"type": "thought", "text": text}:
            return flat(text)
        case {"type": "retry", "reason": reason}:
            return f"the model is asked again: {reason}"
        case {"type": "delegate_action", "event": inner}:
            return said_of(inner)
    return ""
