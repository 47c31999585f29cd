"""Changes of a text: replace and insert, with its line ends kept. No file is touched here.

Lines end with a line feed, as for `grep -n` and `sed`; a carriage return before it belongs to the
line's end.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

MOST_PLACES = 1000
"""Places looked for at most."""


class Edit(NamedTuple):
    """A changed text, and the lines (from 1) that the change left in it."""

    text: str
    first: int
    last: int


def split_lines(text: str) -> list[str]:
    """The lines, each with its end; the last may have none."""
    *lines, rest = text.split("\n")
    return [f"{line}\n" for line in lines] + ([rest] if rest else [])


def line_at(text: str, position: int) -> int:
    """The number, from 1, of the line that holds a character."""
    return text.count("\n", 0, position) + 1


def line_end(text: str) -> str:
    """The line end that most lines have."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def places_of(text: str, old: str) -> list[tuple[int, int]]:
    """Where `old` begins and ends, overlapping places too, `MOST_PLACES` at most.

    A view does not show how lines end: where `old` is not found to the letter, a line feed in it
    stands for a carriage return and a line feed too.
    """
    exact = re.escape(old)
    found = _matches(text, exact)
    if found or "\r" in old:
        return found
    return _matches(text, exact.replace(re.escape("\n"), "\r?\n"))


def _matches(text: str, pattern: str) -> list[tuple[int, int]]:
    overlapping = re.finditer(f"(?=({pattern}))", text)
    return [match.span(1) for match in islice(overlapping, MOST_PLACES)]


def replaced(text: str, place: tuple[int, int], new: str) -> Edit:
    """The text with a place of it replaced; line ends of `new` become those that are there."""
    start, end = place
    gone = text[start:end]
    if "\r" not in new:
        new = new.replace("\n", line_end(gone if "\n" in gone else text))
    first = line_at(text, start)
    # a change that ends with a line's end has not changed the line after it
    last = first + max(new.count("\n") - new.endswith("\n"), 0)
    return Edit(text[:start] + new + text[end:], first, last)


def inserted(text: str, after: int, new: str) -> Edit:
    """The text with whole lines put in after a line; 0 is before the first.

    The end of the last line stays as it is: without a line end if it had none.
    """
    end = line_end(text)
    if "\r" not in new:
        new = new.replace("\n", end)
    lines = split_lines(text)
    if after == len(lines) > 0 and not lines[-1].endswith("\n"):
        lines[-1] += end
    elif not new.endswith("\n"):
        new += end
    added = len(split_lines(new))
    return Edit("".join([*lines[:after], new, *lines[after:]]), after + 1, after + added)
