"""Lines of a file with their numbers, as many as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_WIDE = 1_000
"""Characters shown of a line that is not alone."""
_AROUND = 4
"""Lines shown before and after a change."""


class Shown(NamedTuple):
    """Numbered lines; the last that found room; numbers of lines of which only a part did."""

    text: str
    last: int
    cut: list[int]


def numbered(lines: Sequence[str], first: int, last: int, room: int) -> Shown:
    """The lines `first` to `last` (from 1), whole ones, at most about `room` characters of them."""
    wide = max(room - 8, 80) if first == last else min(_WIDE, max(room // 4, 80))
    shown: list[str] = []
    cut: list[int] = []
    for number in range(first, last + 1):
        line = lines[number - 1].removesuffix("\n").removesuffix("\r")
        piece = f"{number:6}\t{line[:wide]}"
        if len(line) > wide:
            piece += f" [… {len(line) - wide:,} more characters]"
        room -= len(piece) + 1
        if shown and room < 0:
            return Shown("\n".join(shown), number - 1, cut)
        shown.append(piece)
        if len(line) > wide:
            cut.append(number)
    return Shown("\n".join(shown), last, cut)


def around(lines: Sequence[str], first: int, last: int, room: int) -> str:
    """The lines of a change and a few on either side, numbered."""
    begin, end = max(first - _AROUND, 1), min(last + _AROUND, len(lines))
    shown = numbered(lines, begin, end, room)
    if shown.last < end:
        return f"{shown.text}\n[lines {shown.last + 1} to {end} are not shown]"
    return shown.text
