"""Two runs of one task side by side: where they part, and what each of them took. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from manus.trace.model import Run, Step
from manus.trace.reading import run_of_state


class Row(NamedTuple):
    """A step of each, or of one where the other has none that belongs beside it."""

    left: Step | None
    right: Step | None
    sameness: Literal["same", "result", "calls", "left", "right"]
    """The same; the same calls with another result; other calls; a step of one run alone."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, with their steps brought beside each other."""

    left: Run
    right: Run
    names: tuple[str, str]
    rows: list[Row]


def compare(
    left: Mapping[str, Any], right: Mapping[str, Any], names: tuple[str, str] = ("left", "right")
) -> Comparison:
    """The newest runs of two states, such as `(await graph.aget_state(config)).values`.

    Both of the agent graph, or both of the flow graph, whose plans are then compared. Steps are
    the same if their calls are, with the same arguments; the place of the workspace does not count.
    """
    one, two = run_of_state(left), run_of_state(right)
    return Comparison(one, two, names, list(_rows(one, two)))


def where_they_part(comparison: Comparison) -> str:
    """In a sentence: the first step in which the two runs do something else."""
    for row in comparison.rows:
        if row.sameness not in ("same", "result"):
            numbers = sorted({step.number for step in row[:2] if step is not None})
            alone = {"left": 0, "right": 1}.get(row.sameness)
            who = f", which {comparison.names[alone]} alone has" if alone is not None else ""
            return f"They part at step {' / '.join(map(str, numbers))}{who}."
    others = [row.left.number for row in comparison.rows if row.left and row.sameness == "result"]
    return (
        f"Both do the same; step {others[0]} comes to another result."
        if others
        else ("Both runs do the same.")
    )


def _rows(left: Run, right: Run) -> Iterator[Row]:
    matcher = difflib.SequenceMatcher(None, _did(left), _did(right), autojunk=False)
    for kind, begin, end, other, other_end in matcher.get_opcodes():
        some, others = left.steps[begin:end], right.steps[other:other_end]
        for one, two in zip(some, others, strict=False):
            came = _came(left, one) == _came(right, two)
            yield Row(one, two, "calls" if kind != "equal" else "same" if came else "result")
        yield from (Row(one, None, "left") for one in some[len(others) :])
        yield from (Row(None, two, "right") for two in others[len(some) :])


def _did(run: Run) -> list[str]:
    """What each step did: its calls, or what is said where nothing is called."""
    return [_neutral(run, [[c.name, c.args] for c in s.calls] or s.thought) for s in run.steps]


def _came(run: Run, step: Step) -> str:
    return _neutral(run, [call.observation for call in step.calls])


def _neutral(run: Run, value: Any) -> str:
    """The value as text, whatever the order of keys and the place of the workspace."""
    text = json.dumps(value, sort_keys=True, default=str)
    return text.replace(run.workspace, "$workspace") if run.workspace else text
