"""The notes that replace messages: lines that name their sources, checked against them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from manus.nodes.context.numbers import TORN, numbers_held, numbers_in
from manus.prompts import compaction as prompts

_CITATION = re.compile(r"\[\s*#\d+(?:\s*[,;–-]\s*#?\d+)*\s*\]")
_CITED = re.compile(r"(\d+)(?:\s*[–-]\s*#?(\d+))?")
_RANGE = 1_000
"""Messages that a range of numbers stands for at most."""
BULLET = re.compile(r"^\s*(?:(?:[-*•]|\d+[.)])\s+|[・、]|\d+、)")


class Sources:
    """Which numbers each message holds, by the number of the message."""

    def __init__(self, notes: Iterable[str] = ()) -> None:
        self._numbers: dict[int, frozenset[str]] = {}
        for line in notes:  # written from those messages, and checked, when they were there
            held = numbers_held(without_citations(line))
            for number in cited_in(line):
                self._add(number, held)

    def add(self, number: int, text: str) -> None:
        """Take a message."""
        self._add(number, numbers_held(text))

    def _add(self, number: int, held: frozenset[str]) -> None:
        self._numbers[number] = self._numbers.get(number, frozenset()) | held

    def bear_out(self, said: str, cited: Iterable[int]) -> bool:
        """Whether each number in what is said stands in one of the messages that are named."""
        held = frozenset[str]().union(*(self._numbers.get(n, frozenset()) for n in cited))
        return numbers_in(said) <= held


def checked_lines(reply: str, sources: Sources, known: Collection[int]) -> list[str]:
    """The lines of a reply that name known messages and hold no number that is not in these.

    `known` are the numbers of the messages that may be named.
    """
    lines = (_checked(line, sources, known) for line in reply.splitlines())
    return list(dict.fromkeys(line for line in lines if line))


def _checked(line: str, sources: Sources, known: Collection[int]) -> str:
    said = without_citations(BULLET.sub("", line)).strip()
    valid = sorted(number for number in cited_in(line) if number in known)
    if not said or not valid or not sources.bear_out(said, valid):
        return ""
    return f"- {said} [{', '.join(f'#{n}' for n in valid)}]"


def cited_in(line: str) -> set[int]:
    """The numbers of the messages that a line names; `#4-#6` are three."""
    cited: set[int] = set()
    for found in _CITATION.findall(line):
        for first, last in _CITED.findall(found):
            begin, end = int(first), int(last or first)
            cited.update(range(begin, min(end, begin + _RANGE) + 1))
    return cited


def without_citations(line: str) -> str:
    """A line without the numbers of its messages."""
    return _CITATION.sub("", line)


def bounded(lines: Sequence[str], most: float, size: Callable[[str], float] = len) -> list[str]:
    """As many of the newest lines as are of at most that size, and a line about the others.

    `size` tells that of one line: its characters, or its tokens.
    """
    kept: list[str] = []
    total = 0.0
    for line in reversed(lines):
        total += size(line) + 1
        if total > most:
            return [prompts.older_left_out(len(lines) - len(kept)), *reversed(kept)]
        kept.append(line)
    return list(reversed(kept))


def bare_lines(steps: Iterable[tuple[int, int, str]]) -> list[str]:
    """Notes made without a model: one line a step, from (first number, last number, text).

    A number in which a text was cut off would be another number, so it goes.
    """
    return [
        f"- {TORN.sub('…', text)} [{f'#{first}' if first == last else f'#{first}-#{last}'}]"
        for first, last, text in steps
        if text
    ]
