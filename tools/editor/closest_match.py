"""The place of a text that is nearest to one that was not found, and what is different there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import NamedTuple

_LIKE_ENOUGH = 0.6
_MOST_LINES = 20_000
_WIDE = 300
"""Lines compared one by one at most, and characters of each: the search must end in a second or
two, whatever the file."""

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
        first = _alike(lines, wanted)
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
    """By the wanted line that says most: where the line most like it stands."""
    index, key = max(enumerate(wanted), key=lambda numbered: len(numbered[1].strip()))
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(key.strip()[:_WIDE])
    best, place = _LIKE_ENOUGH, None
    for number, line in enumerate(lines[:_MOST_LINES]):
        matcher.set_seq1(line.strip()[:_WIDE])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, place = ratio, max(number - index, 0)
    return place


def _difference(here: Sequence[str], wanted: Sequence[str]) -> str:
    """The first line that differs; quoted, so that tabs and trailing spaces are seen."""
    for mine, theirs in zip(here, wanted, strict=False):
        if theirs not in mine:
            return f"there the line is {mine[:_WIDE]!r}, in `old_str` it is {theirs[:_WIDE]!r}"
    return "`old_str` goes on where the file ends, or the lines end otherwise"
