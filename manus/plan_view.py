"""The plan of a flow as it advances: redrawn on a terminal, else one line for each change."""

from __future__ import annotations

import time
from typing import Any

from manus.formatting import count, fit, flat, gist, in_words, main_argument
from manus.screen import Screen
from manus.state.plan import Plan, as_text
from manus.state.plan_changes import changed_step

_ROOM = 3
"""Lines of the terminal that are left free."""
_HEAD = 7
"""Lines of a plan before its first step."""


class PlanView:
    """Shows the events of a flow's plan."""

    def __init__(self, screen: Screen, currency: str = "$") -> None:
        self._screen = screen
        self._currency = currency
        self._used_before: dict[str, Any] = {}
        """By the planner, and by the steps as far as that sum has them."""
        self._earlier: dict[int, dict[str, Any]] = {}
        """By step: what was used for it before its executor began."""
        self._used: dict[int, dict[str, Any]] = {}
        """By step: what was used for it in all."""
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
        results: list[Any] = [step["result"] or {} for step in plan["steps"]] if plan else []
        self._used = {i: dict(r["usage"]) for i, r in enumerate(results) if r.get("usage")}
        self._earlier = {}
        self._used_before = _sum(usage or {}, *self._used.values(), sign=-1)

    def on_plan(self, event: dict[str, Any]) -> None:
        """There is a plan, or another one than before."""
        plan: Plan = event["plan"]
        self.know(plan, event.get("spent"))
        if self.is_drawn:
            self._screen.pin(self._lines)
        else:
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
        if (used := event.get("spent")) is not None:
            self._used[index] = used
            self._earlier[index] = used
        if self._plan is not None and index < len(self._plan["steps"]):
            changed: Any = {"step": index, "status": status, "notes": event["notes"]}
            self._plan = changed_step(self._plan, changed)
        if self.is_drawn:
            self._screen.pin(self._lines)
        else:
            self._line(f"step {index}", self._said(event, seconds))

    def on_action(self, event: dict[str, Any]) -> None:
        """The executor of a step has done something; only seen where the plan is redrawn."""
        inner, index = event["event"], event["step"]
        if (used := inner.get("spent")) is not None:
            self._used[index] = _sum(self._earlier.get(index, {}), used)
        if said := said_of(inner):
            self._actions[index] = said

    def _said(self, event: dict[str, Any], seconds: float) -> str:
        steps = self._plan["steps"] if self._plan is not None else []
        text = flat(steps[event["step"]]["text"]) if event["step"] < len(steps) else ""
        if event["status"] == "in_progress":
            return f"begun by {event['executor']}: {text}"
        why = f": {flat(event['notes'])}" if event["notes"] else f": {text}"
        spent = in_words(self._used.get(event["step"], {}), self._currency)
        took = ", ".join(part for part in (f"{seconds:.1f} s", spent) if part)
        return f"{event['status']}, {took}{why}"

    def _line(self, label: str, text: str) -> None:
        self._screen.line(f"{label:<8}{text}")

    def _lines(self) -> list[str]:
        """The plan's text, with what is being done below each step at work."""
        if self._plan is None:
            return []
        text = as_text(self._plan).splitlines()
        head, rest = text[:_HEAD], iter(text[_HEAD:])
        if spent := in_words(_sum(self._used_before, *self._used.values()), self._currency):
            head[3] = f"{head[3]}, {spent}"
        lines: list[str] = []
        at_work = 0
        for index, step in enumerate(self._plan["steps"]):
            lines.append(self._with_spent(next(rest), self._used.get(index, {})))
            if step["notes"]:
                lines.append(next(rest))
            if step["status"] == "in_progress":
                now = time.monotonic()
                seconds = now - self._began.get(index, now)
                lines.append(f"   {self._actions.get(index, 'thinking')} ({seconds:.0f} s)")
                at_work = at_work or len(lines)
        # what has scrolled away cannot be redrawn: as many steps as fit, around those at work
        room = max(self._screen.height - _ROOM - len(head), 1)
        first = max(0, min(at_work - room // 2, len(lines) - room))
        return [*head, *lines[first : first + room]]

    def _with_spent(self, line: str, used: Any) -> str:
        """A line and what was used, which stays whole when the line has to be cut."""
        spent = in_words(used, self._currency)
        if not spent:
            return line
        return f"{fit(flat(line), self._screen.width - len(spent) - 3)} ({spent})"


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
        case {"type": "compaction", "before": before, "size": size}:
            return f"older turns were summed up: {before:,} → {size:,} tokens"
        case {"type": "delegate_action", "event": inner}:
            return said_of(inner)
    return ""


def _sum(one: dict[str, Any], *others: dict[str, Any], sign: int = 1) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for used, times in [(one, 1), *((other, sign) for other in others)]:
        for name in ("input_tokens", "output_tokens", "cost"):
            if name in used:
                total[name] = total.get(name, 0) + times * used[name]
    return total
