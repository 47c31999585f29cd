"""The place of a text that is nearest to one that was not found, and what is different there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_LIKE_ENOUGH = 0.6
_MOST_LINES = 20_000
_WIDE = 300
"""Lines compared one by one at most, and characters of each: the search must end in a second or
two, whatever the file."""

_TYPOGRAPHY = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-",
        "\u2212": "-", "\u00a0": " ", "\u202f": " ", "\u200b": "", "\ufeff": "",
    }
)  # fmt: skip
_NUMBERED = re.compile(r"\s*\d+\t")


class Nearest(NamedTuple):
    """Lines (from 1) that are nearly what was looked for, and what is different in words."""

    first: int
    last: int
    difference: str


def nearest(text: str, old: str) -> Nearest | None:
    """The lines nearest to a text that is not there; None if nothing is like it."""
    lines, wanted = _bare(text), _bare(old)
    if not any(line.strip() for line in wanted):
        return None
    if text.endswith(old.rstrip("\n")):
        return Nearest(
            len(lines) - len(wanted) + 1, len(lines), "the file has no newline at its end"
        )
    for reading, explain in _READINGS if len(lines) <= _MOST_LINES else _READINGS[:1]:
        first = _find(list(map(reading, lines)), list(map(reading, wanted)))
        if first is not None:
            here = lines[first : first + len(wanted)]
            return Nearest(first + 1, first + len(here), explain(here, wanted))
    return _alike(lines, wanted)


def _bare(text: str) -> list[str]:
    """The lines without their ends."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _find(lines: list[str], wanted: list[str]) -> int | None:
    """The index of the line where the wanted text begins, which may be within that line."""
    sought = "\n".join(wanted)
    if not sought.strip():
        return None
    text = "\n".join(lines)
    position = text.find(sought)
    return text.count("\n", 0, position) if position >= 0 else None


def _alike(lines: Sequence[str], wanted: Sequence[str]) -> Nearest | None:
    """By the wanted line that says most: where it stands, or where the line most like it does."""
    index, key = max(enumerate(wanted), key=lambda numbered: len(numbered[1].strip()))
    sought = key.strip()[:_WIDE]
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(sought)
    best, place = _LIKE_ENOUGH, -1
    for number, line in enumerate(lines[:_MOST_LINES]):
        matcher.set_seq1(line.strip()[:_WIDE])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, place = ratio, number
    if place < 0:
        return None
    first = max(place - index, 0)
    last = min(first + len(wanted), len(lines))
    return Nearest(first + 1, last, _first_difference(lines[first:last], wanted))


def _first_difference(here: Sequence[str], wanted: Sequence[str]) -> str:
    for mine, theirs in zip(here, wanted, strict=False):
        if mine.strip() != theirs.strip():
            return f"there the line is {_quoted(mine)}, in `old_str` it is {_quoted(theirs)}"
    return "the file ends before `old_str` does"


def _quoted(line: str) -> str:
    text = line.strip()
    return f"`{text[:_WIDE]}{'…' if len(text) > _WIDE else ''}`"


def _whitespace(here: Sequence[str], wanted: Sequence[str]) -> str:
    last = len(wanted) - 1
    for place, (mine, theirs) in enumerate(zip(here, wanted, strict=False)):
        # what is wanted may begin and end within a line
        if (place == 0 and mine.endswith(theirs)) or (place == last and mine.startswith(theirs)):
            continue
        if _indent(mine) != _indent(theirs):
            return (
                f"the whitespace: there the line is indented with {_named(_indent(mine))}, "
                f"in `old_str` with {_named(_indent(theirs))}"
            )
        if _trailing(mine) != _trailing(theirs):
            return (
                f"the whitespace: there the line ends with {_named(_trailing(mine))}, "
                f"in `old_str` with {_named(_trailing(theirs))}"
            )
    return "the whitespace within the lines"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _trailing(line: str) -> str:
    return line[len(line.rstrip()) :]


def _named(blanks: str) -> str:
    """Whitespace in words: `2 tabs and 1 space`."""
    kinds = {" ": "space", "\t": "tab", "\r": "carriage return", "\u00a0": "no-break space"}
    counts = [
        f"{blanks.count(sign)} {kind}{'s' * (blanks.count(sign) != 1)}"
        for sign, kind in kinds.items()
        if sign in blanks
    ]
    return " and ".join(counts) or "no whitespace"


def _unnumbered(line: str) -> str:
    return _NUMBERED.sub("", line, count=1)


def _plain(line: str) -> str:
    return " ".join(line.translate(_TYPOGRAPHY).split())


def _says(words: str) -> Callable[[Sequence[str], Sequence[str]], str]:
    return lambda _here, _wanted: words


# Readings of a line under which two may be the same, the strictest first.
_READINGS: tuple[tuple[Callable[[str], str], Callable[..., str]], ...] = (
    (lambda line: " ".join(line.split()), _whitespace),
    (_plain, _says("typographic characters: quotation marks, dashes or no-break spaces")),
    (lambda line: _plain(line).casefold(), _says("upper and lower case letters")),
    (
        lambda line: _plain(_unnumbered(line)),
        _says("the line numbers: `old_str` holds those of the view, which are not in the file"),
    ),
)
