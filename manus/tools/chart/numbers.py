"""Read a column of cells as numbers, written as a spreadsheet writes them.

Signs, brackets for negative numbers, one unit (`€`, `%`, `kg`), exponents and separators of groups
are understood. Which of `.` and `,` is the decimal separator is decided for the whole column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from manus.workspace.file_names import fold

_CELL = re.compile(r"(\D*?)([.,]?\d(?:[\d., ']*\d)?[.,]?)(e[-+]?\d+)?(\D*)", re.IGNORECASE)
_GROUPS = re.compile(r"\d*|\d{1,3}([., '])(?:\d{2,3}\1)*\d{3}")
_GROUP_MARK = re.compile(r"\D")
_ROUND = re.compile(r"[.,]-+$")
"""The end of an amount without a fraction: `1.200,-`."""
_FRAME = re.compile(r"[\s()+-]")
"""Characters around a number that are not its unit."""


class Numbers(NamedTuple):
    """The numbers of a column; None for a cell that is none, or of another unit."""

    values: list[float | None]
    unit: str


def read_numbers(cells: Sequence[str]) -> Numbers:
    """Return the numbers in the cells of a column."""
    matches = [_CELL.fullmatch(_ROUND.sub("", fold(cell).strip())) for cell in cells]
    units = [_FRAME.sub("", match[1] + match[4]) if match else "" for match in matches]
    unit = _most_common(filter(None, units), "")
    accepted = {unit} if unit == "%" else {unit, ""}
    decimal = _most_common((_find_decimal(match[2]) for match in matches if match), ".")
    values = [
        _read_cell(match, decimal) if match and own in accepted else None
        for match, own in zip(matches, units, strict=True)
    ]
    return Numbers(values, unit)


def _most_common(items: Iterable[str | None], default: str) -> str:
    counts = Counter(item for item in items if item)
    return counts.most_common(1)[0][0] if counts else default


def _find_decimal(digits: str) -> str | None:
    """Return the decimal separator, or None if the digits do not tell it (`1,200`)."""
    separators = re.findall("[.,]", digits)
    if len(set(separators)) == 2:
        return str(separators[-1])
    if len(separators) > 1:
        return "," if separators[0] == "." else "."
    if re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}|[^.,]*", digits):
        return None
    return str(separators[0])


def _read_cell(match: re.Match[str], decimal: str) -> float | None:
    before, digits, exponent, after = match.groups(default="")
    whole, _, fraction = digits.partition(decimal)
    if not _GROUPS.fullmatch(whole) or not re.fullmatch(r"\d*", fraction):
        return None
    plain = _GROUP_MARK.sub("", whole)
    value = float(f"{plain}.{fraction}0{exponent}")
    is_negative = "-" in before + after or ("(" in before and ")" in after)
    return -value if is_negative else value
