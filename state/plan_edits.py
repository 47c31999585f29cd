"""A plan as a person sends it back, read as it was meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from manus.state.plan import Plan, Step, tags_of


def as_meant(given: Mapping[str, Any], present: Plan) -> dict[str, Any]:
    """The plan sent, whose steps go to the executors that their new texts name.

    Whoever changes a step's text leaves its `executor` as it was read, and then it says nothing.
    """
    steps, old = given.get("steps"), present.get("steps", [])
    if not isinstance(steps, list):
        return dict(given)
    return {**given, "steps": [_as_meant(step, place, old) for place, step in enumerate(steps)]}


def _as_meant(given: Any, place: int, old: Sequence[Step]) -> Any:
    if not isinstance(given, Mapping) or place >= len(old):
        return given
    text, was = str(given.get("text", "")), old[place]
    left = given.get("executor") == was["executor"]
    if not left or text == was["text"] or not tags_of(text):
        return given
    return {name: value for name, value in given.items() if name != "executor"}
