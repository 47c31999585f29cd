"""What a flow has used, as it grows."""

from __future__ import annotations

from typing import Any

Used = dict[str, Any]
"""As `manus.state.spending.RoleUsage`; an empty one where nothing is known."""


class FlowUsage:
    """What a flow has used, from its events: in all, and for each step of its plan."""

    def __init__(self) -> None:
        self._beside: Used = {}
        """What was used for anything but the steps."""
        self._earlier: dict[int, Used] = {}
        """Of the steps: what was used for them the times before."""
        self._steps: dict[int, Used] = {}

    def begin(self, plan: Any, spent: Used | None) -> None:
        """There is a plan, and so much has been used for it and in it."""
        results = [step.get("result") or {} for step in plan["steps"]] if plan else []
        self._steps = {i: r["usage"] for i, r in enumerate(results) if r.get("usage")}
        self._earlier = dict(self._steps)
        self._beside = dict(spent or {})
        for used in self._steps.values():
            self._beside = _sum(self._beside, used, -1)

    def on_step(self, index: int, status: str, spent: Used | None) -> None:
        """A step begins or has ended; `spent` is all that was used for it so far."""
        if spent is None:
            return
        self._steps[index] = spent
        if status == "in_progress":
            self._earlier[index] = spent

    def on_action(self, index: int, spent: Used | None) -> None:
        """The executor of a step has used so much since it began."""
        if spent is not None:
            self._steps[index] = _sum(self._earlier.get(index, {}), spent)

    def of_step(self, index: int) -> Used:
        """What was used for a step."""
        return self._steps.get(index, {})

    @property
    def total(self) -> Used:
        """What the run has used."""
        total = self._beside
        for used in self._steps.values():
            total = _sum(total, used)
        return total


def _sum(one: Used, other: Used, sign: int = 1) -> Used:
    names = ("input_tokens", "output_tokens", "cost")
    known = [name for name in names if name in one or name in other]
    return {name: one.get(name, 0) + sign * other.get(name, 0) for name in known}
