"""Split a text into lines, insert lines, and find the lines that a missing text resembles most.

Lines end with a line feed, as for `grep -n` and `sed`. Nothing here accesses files.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

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
