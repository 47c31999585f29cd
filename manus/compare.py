"""Two runs of one task side by side: where they part, and what each of them took. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from manus.trace.model import Run, Step
from manus.trace.reading import run_of_state

Sameness = Literal["same", "result", "calls", "left", "right"]
"""Of a row: the same; the same calls with another result; other calls; a step of one run alone."""


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
        other = (row for row in self.rows if row.sameness not in ("same", "result"))
        return next(other, None)

    @property
    def first_result(self) -> Row | None:
        """The first row in which the same calls came to another result."""
        return next((row for row in self.rows if row.sameness == "result"), None)

    def figures(self) -> list[tuple[str, float, float]]:
        """What each of them took: a name, the left one's figure, the right one's."""
        rows: list[tuple[str, float, float]] = [
            ("steps", len(self.left.steps), len(self.right.steps))
        ]
        for name, title in _FIGURES.items():
            left, right = self.left.usage.get(name, 0), self.right.usage.get(name, 0)
            if name not in _WHERE_KNOWN or left or right:
                rows.append((title, _number(left), _number(right)))
        return rows


_WHERE_KNOWN = ("cost", "cache_write_tokens")
_FIGURES = {
    "model_calls": "model calls",
    "tool_calls": "tool calls",
    "input_tokens": "tokens in",
    "cached_tokens": "of these cached",
    "cache_write_tokens": "of these written to the cache",
    "output_tokens": "tokens out",
    "seconds": "seconds",
    "cost": "cost",
}


def compare(
    left: Mapping[str, Any], right: Mapping[str, Any], names: tuple[str, str] = ("left", "right")
) -> Comparison:
    """The newest runs of two states, such as `(await graph.aget_state(config)).values`.

    Both of the agent graph, or both of the flow graph, whose plans are then compared. Steps are
    the same if their calls are, with the same arguments; the place of the workspace does not count.
    """
    one, two = run_of_state(left), run_of_state(right)
    return Comparison(one, two, names, tuple(_rows(one.steps, two.steps)))


def _rows(left: list[Step], right: list[Step]) -> Iterator[Row]:
    keys = [step.key for step in left], [step.key for step in right]
    matcher = difflib.SequenceMatcher(None, *keys, autojunk=False)
    for kind, begin, end, other, other_end in matcher.get_opcodes():
        some, others = left[begin:end], right[other:other_end]
        both = min(len(some), len(others))
        for one, two in zip(some[:both], others[:both], strict=True):
            yield Row(one, two, _sameness(one, two) if kind == "equal" else "calls")
        yield from (Row(one, None, "left") for one in some[both:])
        yield from (Row(None, two, "right") for two in others[both:])


def _sameness(one: Step, two: Step) -> Sameness:
    came = ([call.observation for call in step.calls] for step in (one, two))
    return "same" if next(came) == next(came) else "result"


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0
