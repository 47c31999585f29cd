"""Edit lines: split, insert, match despite another indentation, and find the nearest text.

Lines end with a line feed, as for `grep -n` and `sed`. Nothing here accesses files.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from manus.workspace.file_names import fold

_MIN_RATIO = 0.6
_MAX_LINES = 20_000
_MAX_WIDTH = 80
_MAX_COMPARED = 1_000
"""Limits that keep the search within a second or two: lines of the file, characters compared per
line, and characters compared per region."""
_MAX_SIMILAR_LINES = 12
_MAX_REGIONS = 50
_MAX_QUOTED = 120
_NUMBERED = re.compile(r"\s*\d+\t")

_BLANKS = " \t"
_MAX_REINDENTED = 1_000
"""Maximum number of lines of a text that is matched."""


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their line endings; the last line may have none."""
    *lines, rest = text.split("\n")
    return [f"{line}\n" for line in lines] + ([rest] if rest else [])


def insert_lines(text: str, after: int, new: str) -> str:
    """Insert whole lines after a line of a text; 0 is before the first.

    A text without a final newline stays without one.
    """
    lines = split_lines(text)
    if after == len(lines) > 0 and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    elif not new.endswith("\n"):
        new += "\n"
    return "".join([*lines[:after], new, *lines[after:]])


def find_nearest(text: str, old: str) -> tuple[int, int, str] | None:
    """Return the lines nearest to a text that is not in the file, and describe the difference.

    The result is the first and the last line number, from 1; None if no lines are similar.
    """
    lines = text.splitlines()
    expected = old.splitlines()
    if not old.strip():
        return None
    first = _find_normalized(lines, expected)
    if first is None:
        first = _find_similar(lines[:_MAX_LINES], expected)
    if first is None:
        return None
    region = lines[first : first + len(expected)]
    return first + 1, first + len(region), _describe_difference(region, expected)


def _find_normalized(lines: Sequence[str], expected: Sequence[str]) -> int | None:
    """Return the line where the normalized text begins, possibly within the line."""
    text = "\n".join(map(_normalize, lines))
    position = text.find("\n".join(map(_normalize, expected)))
    return text.count("\n", 0, position) if position >= 0 else None


def _normalize(line: str) -> str:
    """Unify blanks, quotes, dashes and case, and remove the line numbers of a view."""
    return " ".join(fold(_NUMBERED.sub("", line, count=1)).casefold().split())


def _find_similar(lines: Sequence[str], expected: Sequence[str]) -> int | None:
    """Return the start of the region most similar to the expected lines, or None.

    Only regions around a line that resembles the longest expected line are compared as a whole.
    """
    stripped = [line.strip()[:_MAX_WIDTH] for line in lines]
    longest = max(expected, key=len)
    offset = expected.index(longest)
    similar = difflib.get_close_matches(
        longest.strip()[:_MAX_WIDTH], list(dict.fromkeys(stripped)), _MAX_SIMILAR_LINES, _MIN_RATIO
    )
    positions = [number for number, line in enumerate(stripped) if line in similar]
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(_join_stripped(expected))
    best_ratio = _MIN_RATIO
    best_start = None
    for position in positions[:_MAX_REGIONS]:
        start = max(position - offset, 0)
        matcher.set_seq1(_join_stripped(lines[start : start + len(expected)]))
        ratio = matcher.ratio()
        if ratio > best_ratio:
            best_ratio = ratio
            best_start = start
    return best_start


def _join_stripped(lines: Sequence[str]) -> str:
    return "\n".join(line.strip() for line in lines)[:_MAX_COMPARED]


def _describe_difference(region: Sequence[str], expected_lines: Sequence[str]) -> str:
    """Quote the first line that differs, so that tabs and trailing spaces are visible."""
    last = len(expected_lines) - 1
    for number, (line, expected) in enumerate(zip(region, expected_lines, strict=False)):
        if not _matches(expected, line, first=number == 0, last=number == last):
            quoted = repr(line[:_MAX_QUOTED])
            return f"the file has {quoted}, `old_str` has {expected[:_MAX_QUOTED]!r}"
    return "`old_str` continues past the end of the file, or the line endings differ"


def _matches(expected: str, line: str, *, first: bool, last: bool) -> bool:
    """Return whether a line matches; a text may start and end in the middle of a line."""
    if first and last:
        return expected in line
    if first:
        return line.endswith(expected)
    return line.startswith(expected) if last else line == expected


def clean_copy(text: str, old: str, new: str) -> tuple[str, str]:
    """Return an edit whose old text was copied from a view, or escaped, as it is in the file.

    It is returned unchanged if it would not occur exactly once.
    """
    cleaned = [edit.replace("\\n", "\n").replace("\\t", "\t") for edit in (old, new)]
    if all(map(_NUMBERED.match, old.splitlines())):
        cleaned = [
            "".join(_strip_number(line) for line in edit.splitlines(True)) for edit in (old, new)
        ]
    is_unique = bool(cleaned[0]) and text.count(cleaned[0]) == 1
    return (cleaned[0], cleaned[1]) if is_unique else (old, new)


def _strip_number(line: str) -> str:
    return _NUMBERED.sub("", line, count=1) if _NUMBERED.match(line) else line


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
    if not old.strip() or len(expected) > _MAX_REINDENTED:
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
