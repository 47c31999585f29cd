"""A text's lines, lines put in, and what was nearly meant.

Lines end with a line feed, as for `grep -n` and `sed`. No file is touched here.
"""

from __future__ import annotations

import difflib
import heapq
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

_LIKE_ENOUGH = 0.6
_MOST_LINES = 20_000
_WIDE = 120
_LETTERS = 1_000
"""Lines looked at for what is alike, and characters of each and of a place: the search must end in
a second or two, whatever the file."""
_TRIED = 12
"""Places compared letter by letter: those that share most with the text."""
_TYPOGRAPHY = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u2212", "''\"\"---", "\u200b")
_NUMBERED = re.compile(r"\s*\d+\t")


def split_lines(text: str) -> list[str]:
    """The lines, each with its end; the last may have none."""
    *lines, rest = text.split("\n")
    return [f"{line}\n" for line in lines] + ([rest] if rest else [])


def inserted(text: str, after: int, new: str) -> str:
    """The text with whole lines put in after a line; 0 is before the first.

    The end of the last line stays as it is: without a line end if it had none.
    """
    lines = split_lines(text)
    if after == len(lines) > 0 and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    elif not new.endswith("\n"):
        new += "\n"
    return "".join([*lines[:after], new, *lines[after:]])


def nearest(text: str, old: str) -> tuple[int, int, str] | None:
    """The lines nearest to a text that is not there, and what is different in words.

    The first line and the last, from 1; None if nothing is like it.
    """
    lines = text.splitlines()
    wanted = old.splitlines()
    if not old.strip():
        return None
    plain = "\n".join(map(_plain, lines))
    place = plain.find("\n".join(map(_plain, wanted)))  # it may begin within a line
    found = place >= 0
    first = plain.count("\n", 0, place) if found else _alike(lines[:_MOST_LINES], wanted)
    if first is None:
        return None
    here = lines[first : first + len(wanted)]
    return first + 1, first + len(here), _difference(here, wanted)


def _plain(line: str) -> str:
    """A line without what is easily mistaken: blanks, quotes, dashes, case, the view's numbers."""
    return " ".join(_NUMBERED.sub("", line, count=1).translate(_TYPOGRAPHY).casefold().split())


def _alike(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where as many lines as are wanted are most like them as a whole."""
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(_letters(wanted))
    best = _LIKE_ENOUGH
    found = None
    for place in _promising(lines, wanted):
        matcher.set_seq1(_letters(lines[place : place + len(wanted)]))
        if matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best = ratio
            found = place
    return found


def _promising(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The places that share most with the wanted text, the best first.

    Measured in runs of three letters; the rarer one is in the file, the more it says.
    """
    sought = {three for line in wanted for three in _threes(line)}
    found = [sought & _threes(line) for line in lines]
    count = Counter(three for threes in found for three in threes)
    until = [0.0, *accumulate(sum(1 / count[three] for three in threes) for threes in found)]
    ends = (min(first + len(wanted), len(lines)) for first in range(len(lines)))
    shared = [until[end] - until[first] for first, end in enumerate(ends)]
    return heapq.nlargest(_TRIED, range(len(lines)), key=shared.__getitem__)


def _threes(line: str) -> set[str]:
    line = line.strip()[:_WIDE]
    return {line[at : at + 3] for at in range(max(len(line) - 2, 1))}


def _letters(lines: Sequence[str]) -> str:
    return "\n".join(line.strip() for line in lines)[:_LETTERS]


def _difference(here: Sequence[str], wanted: Sequence[str]) -> str:
    """The first line that differs; quoted, so that tabs and trailing spaces are seen."""
    last = len(wanted) - 1
    for number, (mine, theirs) in enumerate(zip(here, wanted, strict=False)):
        if not _is_there(theirs, mine, first=number == 0, last=number == last):
            return f"there the line is {mine[:_WIDE]!r}, in `old_str` it is {theirs[:_WIDE]!r}"
    return "`old_str` goes on where the file ends, or the lines end otherwise"


def _is_there(wanted: str, line: str, *, first: bool, last: bool) -> bool:
    """A text may begin within its first line and end within its last; those between are whole."""
    if first and last:
        return wanted in line
    if first:
        return line.endswith(wanted)
    return line.startswith(wanted) if last else line == wanted
