"""The place of a text that is nearest to one that was not found, and what is different there."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

_LIKE_ENOUGH = 0.6
_MOST_LINES = 20_000
_WIDE = 120
_LETTERS = 1_000
"""Lines looked at, and characters of each and of a place: the search must end in a second or two,
whatever the file."""
_TRIED = 12
"""Places compared letter by letter: those that share most with the text."""

_TYPOGRAPHY = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u2212", "''\"\"---", "\u200b")
_NUMBERED = re.compile(r"\s*\d+\t")


class Nearest(NamedTuple):
    """Lines (from 1) that are nearly what was looked for, and what is different in words."""

    first: int
    last: int
    difference: str


def nearest(text: str, old: str) -> Nearest | None:
    """The lines nearest to a text that is not there; None if nothing is like it."""
    lines, wanted = text.splitlines(), old.splitlines()
    if not old.strip():
        return None
    first = _find([_plain(line) for line in lines], [_plain(line) for line in wanted])
    if first is None:
        first = _alike(lines[:_MOST_LINES], wanted)
    if first is None:
        return None
    here = lines[first : first + len(wanted)]
    return Nearest(first + 1, first + len(here), _difference(here, wanted))


def _plain(line: str) -> str:
    """A line without what is easily mistaken: blanks, quotes, dashes, case, the view's numbers."""
    return " ".join(_NUMBERED.sub("", line, count=1).translate(_TYPOGRAPHY).casefold().split())


def _find(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The index of the line where the wanted text begins, which may be within that line."""
    text = "\n".join(lines)
    place = text.find("\n".join(wanted))
    return text.count("\n", 0, place) if place >= 0 else None


def _alike(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where as many lines as are wanted are most like them as a whole."""
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(_letters(wanted))
    best, place = _LIKE_ENOUGH, None
    for first in _promising(lines, wanted):
        matcher.set_seq1(_letters(lines[first : first + len(wanted)]))
        if matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, place = ratio, first
    return place


def _letters(lines: Sequence[str]) -> str:
    return "\n".join(line.strip() for line in lines)[:_LETTERS]


def _promising(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The places that share most with the wanted text, the best first.

    Measured in runs of three letters; the rarer one is in the file, the more it says.
    """
    sought = {three for line in wanted for three in _threes(line)}
    found = [sought & _threes(line) for line in lines]
    count = Counter(three for threes in found for three in threes)
    scores = (sum(1 / count[three] for three in threes) for threes in found)
    until = list(accumulate(scores, initial=0.0))
    shared = [
        until[min(first + len(wanted), len(lines))] - until[first] for first in range(len(lines))
    ]
    return sorted(range(len(lines)), key=lambda first: -shared[first])[:_TRIED]


def _threes(line: str) -> set[str]:
    line = line.strip()[:_WIDE]
    return {line[at : at + 3] for at in range(max(len(line) - 2, 1))}


def _difference(here: Sequence[str], wanted: Sequence[str]) -> str:
    """The first line that differs; quoted, so that tabs and trailing spaces are seen."""
    for mine, theirs in zip(here, wanted, strict=False):
        if theirs not in mine:
            return f"there the line is {mine[:_WIDE]!r}, in `old_str` it is {theirs[:_WIDE]!r}"
    return "`old_str` goes on where the file ends, or the lines end otherwise"
