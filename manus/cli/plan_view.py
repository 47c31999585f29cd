"""Show the plan of a flow: redrawn on a terminal, otherwise one line per change."""

from __future__ import annotations

import time
from typing import Any

from manus.cli.screen import Screen
from manus.prompts.formatting import clean, count, fit, flat, gist, in_words, main_argument
from manus.state.plan import Plan, format_plan
from manus.state.plan_changes import change_step

_FREE_LINES = 3
"""Lines of the terminal to leave free."""
_HEAD_LINES = 7
"""Lines of a plan before its first step."""


class PlanView:
    """Shows the events of a flow's plan."""

    def __init__(self, screen: Screen, currency: str = "$") -> None:
        self._screen = screen
        self._currency = currency
        self.plan: Plan | None = None
        """The current plan; before the first event, the plan of the resumed run."""
        self._start_times: dict[int, float] = {}
        self._actions: dict[int, str] = {}
        self._usage: dict[int, dict[str, Any]] = {}
        """Usage of the current execution, by step."""
        self.shown = ""
        """The plan as last drawn on the terminal."""

    @property
    def is_drawn(self) -> bool:
        """Return whether a plan is being redrawn."""
        return self.plan is not None and self._screen.can_redraw

    def on_plan(self, event: dict[str, Any]) -> None:
        """Show a new or changed plan."""
        plan: Plan = event["plan"]
        self.plan = plan
        steps = count(len(plan["steps"]), "step")
        self._show("plan", f"{event['why']}: {plan['title']} (ID: {plan['id']}), {steps}")

    def on_step(self, event: dict[str, Any]) -> None:
        """Show a step that starts, waits for an answer, or has ended."""
        index = event["step"]
        status = event["status"]
        question = flat(event.get("question", ""))
        if question:
            self._actions[index] = f"waits for your answer: {question}"
        elif status == "in_progress":
            self._start_times[index] = time.monotonic()
            self._actions.pop(index, None)
        if self.plan is not None and index < len(self.plan["steps"]):
            changed: Any = {"step": index, "status": status, "notes": event["notes"]}
            self.plan = change_step(self.plan, changed)
        self._show(f"step {index}", self._describe_step(event))

    def on_action(self, event: dict[str, Any]) -> None:
        """Record an action of a step's executor; visible only where the plan is redrawn."""
        inner = event["event"]
        index = event["step"]
        self._usage[index] = inner.get("spent", self._usage.get(index, {}))
        if action := describe_action(inner):
            self._actions[index] = action

    def _describe_step(self, event: dict[str, Any]) -> str:
        index = event["step"]
        steps = self.plan["steps"] if self.plan is not None else []
        text = flat(steps[index]["text"]) if index < len(steps) else ""
        if question := flat(event.get("question", "")):
            return f"waits for your answer; other steps continue first: {question}"
        if event["status"] == "in_progress":
            return f"started by {event['executor']}: {text}"
        spent = in_words(self._usage.get(index, {}), self._currency)
        took = f"{self._seconds(index):.1f} s{spent and f', {spent}'}"
        return f"{event['status']}, {took}: {flat(event['notes']) or text}"

    def _seconds(self, index: int) -> float:
        now = time.monotonic()
        return now - self._start_times.get(index, now)

    def _show(self, label: str, text: str) -> None:
        """Redraw the plan; without a terminal, print one line about the change."""
        if self.is_drawn:
            self._screen.pin(self._lines)
            self.shown = "\n".join(self._lines())
        else:
            self._screen.line(f"{label:<8}{text}")

    def _lines(self) -> list[str]:
        """Return the lines of the plan, with the current action below each running step."""
        if self.plan is None:
            return []
        text = clean(format_plan(self.plan)).splitlines()
        head = text[:_HEAD_LINES]
        rest = iter(text[_HEAD_LINES:])
        lines: list[str] = []
        running = 0
        for index, step in enumerate(self.plan["steps"]):
            lines.append(self._with_spent(next(rest), self._usage.get(index, {})))
            if step["notes"]:
                lines.append(next(rest))
            if step["status"] == "in_progress":
                current_action = self._actions.get(index, "thinking")
                lines.append(f"   {current_action} ({self._seconds(index):.0f} s)")
                running = running or len(lines)
        # scrolled-off lines cannot be redrawn: show as many steps as fit, around the running ones
        height = max(self._screen.console.height, 8) - self._screen.input_height
        room = max(height - _FREE_LINES - len(head), 1)
        first = max(0, min(running - room // 2, len(lines) - room))
        return [*head, *lines[first : first + room]]

    def _with_spent(self, line: str, used: Any) -> str:
        """Append the usage to a line, which is cut to fit."""
        if not (spent := in_words(used, self._currency)):
            return line
        return f"{fit(flat(line), self._screen.console.width - len(spent) - 3)} ({spent})"


def describe_action(event: dict[str, Any]) -> str:
    """Describe an action of an agent inside a run in one line; empty for other events."""
    match event:
        case {"type": "call", "name": name, "args": args}:
            return f"{name}: {main_argument(args)}"
        case {"type": "observation", "name": name, "text": text}:
            return f"{name} → {gist(text)}"
        case {"type": "thought", "text": text}:
            return flat(text)
        case {"type": "retry", "reason": reason}:
            return f"retrying the model request: {reason}"
        case {"type": "delegate_action", "event": inner}:
            return describe_action(inner)
    return ""
