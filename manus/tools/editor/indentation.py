"""Match a text that differs from a file only in its indentation, and correct its replacement.

Nothing here accesses files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_BLANKS = " \t"
_MAX_LINES = 1_000
"""Maximum number of lines of a text that is matched."""


class Reindented(NamedTuple):
    """A region of a file, and the replacement with the indentation of the file."""

    start: int
    end: int
    new: str


def reindent(text: str, old: str, new: str) -> Reindented | None:
    """Return the only region that equals `old` except for indentation, with `new` re-indented.

    None if there is no such region or more than one, or if the indentation of `new` does not
    follow from it.
    """
    expected = old.split("\n")
    if not old.strip() or len(expected) > _MAX_LINES:
        return None
    pattern = "\n".join(map(_line_pattern, expected))
    # a lookahead, so that overlapping matches count too
    matches = list(re.finditer(f"(?m)^(?=({pattern}))", text))
    if len(matches) != 1:
        return None
    [match] = matches
    indents = _map_indents(expected, match[1].split("\n"))
    if indents is None:
        return None
    lines: list[str] = []
    for line in new.split("\n"):
        corrected = _correct_line(line, indents)
        if corrected is None:
            return None
        lines.append(corrected)
    return Reindented(match.start(1), match.end(1), "\n".join(lines))


def is_misaligned(text: str, start: int, new: str) -> bool:
    """Return whether later lines of an edit are indented less than the line where it starts.

    This is right if a block ends there, and wrong if `old_str` started within the indentation, with
    less of it than the file has.
    """
    line_start = text.rfind("\n", 0, start) + 1
    before = text[line_start:start]
    if not before or before.strip(_BLANKS):
        return False
    indent = _get_indent(text[line_start:].partition("\n")[0])
    further_lines = (line for line in new.split("\n")[1:] if line.strip())
    return any(len(_get_indent(line)) < len(indent) for line in further_lines)


def _line_pattern(line: str) -> str:
    return rf"[ \t]*{re.escape(line.lstrip(_BLANKS))}"


def _get_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def _map_indents(expected: Iterable[str], actual: Iterable[str]) -> dict[str, str] | None:
    """Map each indentation of the text to the file's; None if one maps to several."""
    indents: dict[str, str] = {}
    for expected_line, line in zip(expected, actual, strict=True):
        if not expected_line.strip(_BLANKS):
            continue
        indent = _get_indent(line)
        if indents.setdefault(_get_indent(expected_line), indent) != indent:
            return None
    return indents


def _correct_line(line: str, indents: Mapping[str, str]) -> str | None:
    """Return a line of the replacement with its indentation corrected; None if that is unclear."""
    content = line.lstrip(_BLANKS)
    if not content:
        return line
    indent = _get_indent(line)
    if indent in indents:
        return indents[indent] + content
    for convert in (_shift, _change_unit):
        converted = convert(indent, indents)
        if converted is not None:
            return converted + content
    return None


def _shift(indent: str, indents: Mapping[str, str]) -> str | None:
    """Convert an indentation if all pairs differ by the same leading blanks."""
    [first, *_] = indents.items()
    added = first[1].removesuffix(first[0])
    removed = first[0].removesuffix(first[1])
    if all(actual == added + expected for expected, actual in indents.items()):
        return added + indent
    if all(expected == removed + actual for expected, actual in indents.items()):
        return indent.removeprefix(removed) if indent.startswith(removed) else None
    return None


def _change_unit(indent: str, indents: Mapping[str, str]) -> str | None:
    """Convert an indentation if all pairs have the same number of different units, such as tabs."""
    units = {_units(expected, actual) for expected, actual in indents.items() if expected}
    if len(units) != 1:
        return None
    [unit] = units
    if unit is None:
        return None
    count, rest = divmod(len(indent), len(unit[0]))
    is_multiple = not rest and indent == unit[0] * count
    is_consistent = all(
        actual == unit[1] * (len(expected) // len(unit[0])) for expected, actual in indents.items()
    )
    return unit[1] * count if is_multiple and is_consistent else None


def _units(expected: str, actual: str) -> tuple[str, str] | None:
    """Return the unit of an indentation and its replacement; one of the two is a tab."""
    for text, other in ((expected, actual), (actual, expected)):
        depth = len(text)
        if text and text == "\t" * depth and other == " " * len(other):
            width, rest = divmod(len(other), depth)
            if width and not rest:
                units = ("\t", " " * width)
                return units if text is expected else (units[1], units[0])
    return None
