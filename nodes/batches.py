"""Which steps go to work together, and what each may use."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from typing import Any

from state.agent import Usage
from state.context import Budget
from state.plan import Plan, Step, ready_steps

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_FILE = re.compile(r"(?:[\w.~-]+/)*[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,7}\b")
_NO_FILES = frozenset({"e.g", "i.e", "a.m", "p.m"})


def files_named(text: str) -> frozenset[str]:
    """The files that a step's text names; addresses of pages are not files."""
    found = (m.group(0).rstrip(".") for m in _FILE.finditer(_ADDRESS.sub(" ", text)))
    return frozenset(posixpath.normpath(f) for f in found if f.lower() not in _NO_FILES)


def collide(one: Step, other: Step, exclusive: Collection[str]) -> bool:
    """Whether two steps may not be at work at the same time.

    They may not if they name the same file, with or without its folder, or if both need an
    executor of which there can be only one at work.
    """
    if one["executor"] in exclusive and other["executor"] in exclusive:
        return True
    mine, theirs = files_named(one["text"]), files_named(other["text"])
    return any(_same_file(a, b) for a in mine for b in theirs)


def _same_file(one: str, other: str) -> bool:
    if "/" in one and "/" in other:
        return one == other
    return posixpath.basename(one) == posixpath.basename(other)


def choose_batch(plan: Plan, most: int, exclusive: Collection[str] = ()) -> list[int]:
    """Places of the steps that go to work now, in order, at most so many."""
    chosen: list[int] = []
    for index in ready_steps(plan):
        step = plan["steps"][index]
        if any(collide(step, plan["steps"][other], exclusive) for other in chosen):
            continue
        chosen.append(index)
        if len(chosen) == most:
            break
    return chosen


def room_for(budget: Budget, usage: Usage, wanted: int) -> int:
    """How many steps can begin: each needs a model call and a tool call at least, if counted."""
    left = [
        limit - used
        for limit, used in (
            (budget.model_calls, usage["model_calls"]),
            (budget.tool_calls, usage["tool_calls"]),
        )
        if limit is not None
    ]
    return max(1, min([wanted, *left]))


def share_of(budget: Budget, usage: Usage, steps: int) -> dict[str, Any]:
    """The budget of each of so many steps that work side by side.

    What is left of the run's is divided among them, so that together they cannot use more than
    there is; what one leaves over comes back to the next steps. Time passes for all at once and is
    not divided.
    """
    used: dict[str, float] = {
        "tokens": usage["input_tokens"] + usage["output_tokens"],
        "cost": usage.get("cost", 0.0),
        "tool_calls": usage["tool_calls"],
        "model_calls": usage["model_calls"],
    }
    share: dict[str, Any] = {}
    for name, amount in used.items():
        limit = getattr(budget, name)
        if limit is None:
            continue
        left = limit - amount
        share[name] = left / steps if name == "cost" else max(1, int(left) // steps)
    if budget.seconds is not None:
        share["seconds"] = max(budget.seconds - usage["seconds"], 0.001)
    return share
