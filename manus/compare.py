"""Two runs of one task side by side: where they part, and what each of them took. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from manus.trace.model import Run, Step
from manus.trace.reading import run_of_state

Sameness = Literal["same", "result", "calls", "left", "right"]
"""Of a row: the same; the same calls with another result; other calls; a step of one run alone."""

FIGURES = {
    "model_calls": "model calls",
    "tool_calls": "tool calls",
    "input_tokens": "tokens in",
    "cached_tokens": "cached",
    "cache_write_tokens": "written to the cache",
    "output_tokens": "tokens out",
    "seconds": "seconds",
    "cost": "cost",
}
"""What a usage counts, and its heading."""
_WHERE_KNOWN = ("cost", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class Row:
    """A step of each, or of one where the other has none that belongs beside it."""

    left: Step | None
    right: Step | None
    sameness: Sameness


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, with their steps brought beside each other."""

    left: Run
    right: Run
    names: tuple[str, str]
    rows: tuple[Row, ...]

    @property
    def parted(self) -> Row | None:
        """The first row in which they do something else; None if they do the same throughout."""
        return next((row for row in self.rows if row.sameness not in ("same", "result")), None)

    def figures(self) -> list[tuple[str, float, float]]:
        """What each of them took: a name, the left one's figure, the right one's."""
        rows: list[tuple[str, float, float]] = [
            ("steps", len(self.left.steps), len(self.right.steps))
        ]
        for name, title in FIGURES.items():
            left, right = self.left.usage.get(name) or 0, self.right.usage.get(name) or 0
            if name not in _WHERE_KNOWN or left or right:
                rows.append((title, left, right))
        return rows


def compare(
    left: Mapping[str, Any], right: Mapping[str, Any], names: tuple[str, str] = ("left", "right")
) -> Comparison:
    """The newest runs of two states, such as `(await graph.aget_state(config)).values`.

    Both of the agent graph, or both of the flow graph, whose plans are then compared. Steps are
    the same if their calls are, with the same arguments; the place of the workspace does not count.
    """
    one, two = run_of_state(left), run_of_state(right)
    return Comparison(one, two, names, tuple(_rows(one, two)))


def where_they_part(comparison: Comparison) -> str:
    """In a sentence: the step in which the two runs do something else."""
    row, (left, right) = comparison.parted, comparison.names
    if row is None:
        others = (row.left for row in comparison.rows if row.sameness == "result")
        if (other := next(others, None)) is not None:
            return f"Both do the same; step {other.number} comes to another result."
        return "Both runs do the same."
    one, two = row.left, row.right
    if one is not None and two is not None:
        numbers = " / ".join(map(str, sorted({one.number, two.number})))
        return f"They part at step {numbers}."
    if two is not None:
        return f"They part where {right} has a step {two.number} that {left} has not."
    return f"They part where {left} has a step {one.number if one else 0} that {right} has not."


def _rows(left: Run, right: Run) -> Iterator[Row]:
    one_did = [_did(left, step) for step in left.steps]
    two_did = [_did(right, step) for step in right.steps]
    matcher = difflib.SequenceMatcher(None, one_did, two_did, autojunk=False)
    for kind, begin, end, other, other_end in matcher.get_opcodes():
        some, others = left.steps[begin:end], right.steps[other:other_end]
        both = min(len(some), len(others))
        for one, two in zip(some[:both], others[:both], strict=True):
            same: Sameness = "same" if _came(left, one) == _came(right, two) else "result"
            yield Row(one, two, same if kind == "equal" else "calls")
        yield from (Row(one, None, "left") for one in some[both:])
        yield from (Row(None, two, "right") for two in others[both:])


def _did(run: Run, step: Step) -> str:
    """What a step did: its calls, or what is said where nothing is called."""
    return _neutral(run, [[call.name, call.args] for call in step.calls] or step.thought)


def _came(run: Run, step: Step) -> str:
    return _neutral(run, [call.observation for call in step.calls])


def _neutral(run: Run, value: Any) -> str:
    """The value as text, whatever the order of keys and the place of the workspace."""
    text = json.dumps(value, sort_keys=True, default=str)
    return text.replace(run.workspace, "$workspace") if run.workspace else text
