"""Compare two runs of the tasks, by pairs of the same task."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

_Z = 1.96
"""Standard deviations of a 95 % interval."""


class TaskSummary(NamedTuple):
    """The results of a task in one run of the benchmark, over its repeats."""

    solved: int
    repeats: int
    turns: float
    tokens: float

    @property
    def rate(self) -> float:
        """Return the share of its repeats that were solved."""
        return self.solved / self.repeats


def read_summaries(folder: Path) -> dict[str, TaskSummary]:
    """Return the summaries by task, from the `results.jsonl` of a run."""
    by_task: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (folder / "results.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        by_task[entry["name"]].append(entry)
    return {
        name: TaskSummary(
            sum(not entry["failure"] for entry in entries),
            len(entries),
            median(entry["turns"] for entry in entries),
            median(entry["tokens"] for entry in entries),
        )
        for name, entries in by_task.items()
    }


def interval(solved: int, number: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share (Wilson 1927)."""
    if not number:
        return 0.0, 1.0
    share = solved / number
    middle = share + _Z**2 / (2 * number)
    spread = _Z * math.sqrt(share * (1 - share) / number + _Z**2 / (4 * number**2))
    scale = 1 + _Z**2 / number
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def sign_test(better: int, worse: int) -> float:
    """Return the two-sided probability of such a difference if both were equally good."""
    number = better + worse
    if not number:
        return 1.0
    tail = sum(math.comb(number, k) for k in range(max(better, worse), number + 1))
    return float(min(1.0, 2 * tail / 2**number))


def compare(first: Mapping[str, TaskSummary], second: Mapping[str, TaskSummary]) -> str:
    """Return the comparison of the tasks that both runs contain, as text."""
    names = [name for name in first if name in second]
    lines = [_describe("A", [first[name] for name in names])]
    lines.append(_describe("B", [second[name] for name in names]))
    better = [name for name in names if second[name].rate > first[name].rate]
    worse = [name for name in names if second[name].rate < first[name].rate]
    for label, differing in (("B", better), ("A", worse)):
        if differing:
            lines.append(f"Solved by {label} alone, or more often: {', '.join(differing)}")
    probability = sign_test(len(better), len(worse))
    lines.append(
        f"{len(better)} better, {len(worse)} worse, {len(names) - len(better) - len(worse)} equal "
        f"of {len(names)} tasks; sign test p = {probability:.3f}"
    )
    both = [name for name in names if first[name].solved and second[name].solved]
    if both:
        turns = _ratio([(first[name].turns, second[name].turns) for name in both])
        tokens = _ratio([(first[name].tokens, second[name].tokens) for name in both])
        lines.append(f"Where both solved it, B takes {turns} of A's turns, {tokens} of its tokens")
    left_out = {*first, *second} - {*names}
    if left_out:
        lines.append(f"Only in one of the two, left out: {', '.join(sorted(left_out))}")
    return "\n".join(lines)


def _describe(label: str, summaries: Sequence[TaskSummary]) -> str:
    solved = sum(each.solved for each in summaries)
    number = sum(each.repeats for each in summaries)
    low, high = interval(solved, number)
    share = solved / number if number else 0.0
    return f"{label}: {solved} of {number} solved ({share:.0%}, 95 % interval {low:.0%}-{high:.0%})"


def _ratio(pairs: Sequence[tuple[float, float]]) -> str:
    """Return the median of the ratios of pairs; a dash if none can be computed."""
    ratios = [second / first for first, second in pairs if first]
    return f"{median(ratios):.2f}" if ratios else "-"
