"""Changes of a text: replace and insert, with its line ends kept. No file is touched here.

Lines end with a line feed, as for `grep -n` and `sed`; a carriage return before it belongs to the
line's end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

MOST_PLACES = 1000
"""Places looked for at most."""


class Place(NamedTuple):
    """A part of a text, from the character `start` to the one before `end`."""

    start: int
    end: int


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


def places_of(text: str, old: str) -> list[Place]:
    """Where `old` stands, overlapping places too, `MOST_PLACES` at most.

    A view does not show how lines end: where `old` is not found to the letter, a line feed in it
    stands for a carriage return and a line feed too.
    """
    found = list(islice(_matches(text, re.escape(old)), MOST_PLACES))
    if found or "\n" not in old or "\r" in old:
        return found
    loosely = re.escape(old).replace(re.escape("\n"), "\r?\n")
    return list(islice(_matches(text, loosely), MOST_PLACES))


def _matches(text: str, pattern: str) -> Iterator[Place]:
    sought = re.compile(pattern)
    match = sought.search(text)
    while match is not None:
        yield Place(*match.span())
        match = sought.search(text, match.start() + 1)


def replaced(text: str, place: Place, new: str) -> Edit:
    """The text with a place of it replaced; line ends of `new` become those that are there."""
    gone = text[place.start : place.end]
    if "\r" not in new:
        new = new.replace("\n", line_end(gone if "\n" in gone else text))
    first = line_at(text, place.start)
    # a change that ends with a line's end has not changed the line after it
    last = first + max(new.count("\n") - new.endswith("\n"), 0)
    return Edit(text[: place.start] + new + text[place.end :], first, last)


def inserted(text: str, after: int, new: str) -> Edit:
    """The text with whole lines put in after a line; 0 is before the first.

    The end of the last line stays as it is: without a line end if it had none.
    """
    end = line_end(text)
    if "\r" not in new:
        new = new.replace("\n", end)
    lines = split_lines(text)
    open_end = bool(lines) and not lines[-1].endswith("\n")
    if open_end and after == len(lines):
        lines[-1] += end
    elif not new.endswith("\n"):
        new += end
    added = len(split_lines(new))
    return Edit("".join([*lines[:after], new, *lines[after:]]), after + 1, after + added)


def changed(before: str, after: str) -> Edit:
    """`after`, and the lines of it that are not as they were before."""
    old, new = split_lines(before), split_lines(after)
    least = min(len(old), len(new))
    head = next((i for i in range(least) if old[i] != new[i]), least)
    tail = next((i for i in range(least - head) if old[-1 - i] != new[-1 - i]), least - head)
    return Edit(after, head + 1, max(len(new) - tail, head + 1))
