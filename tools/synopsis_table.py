"""A text that is a table: its rows, and what each column holds."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
_SAMPLE = 200
_LEAST = 15
"""Rows that there must be."""
_RAGGED = 0.2
"""Part of the rows of a table with a header that may have more or fewer cells than it."""
_CELLS = 200_000
"""Cells that are looked at; the rows behind are only counted."""
_WIDEST = 200
"""Columns that a table has at most."""
_NAME = 60
_DISTINCT = 1_000
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"[+-]?(?:\d{1,18}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_ZEROS = re.compile(r"[+-]?0\d")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_TRUTH = frozenset({"true", "false", "yes", "no"})


@dataclass(slots=True)
class Column:
    """What the cells of a column have in common."""

    name: str
    count: int = 0
    missing: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    low: float = 0.0
    high: float = 0.0
    first: str = ""
    last: str = ""
    longest: int = 0
    distinct: dict[str, int] = field(default_factory=dict)

    def take(self, cell: str) -> None:
        """Take one more cell into account."""
        self.count += 1
        cell = cell.strip()
        if cell.lower() in _MISSING:
            self.missing += 1
            return
        kind = kind_of(cell)
        seen = self.count - self.missing == 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if kind in ("integer", "number"):
            self._take_number(float(cell))
        elif kind == "date":
            self.first = cell if seen or not self.first else min(self.first, cell)
            self.last = max(self.last, cell)
        self.longest = max(self.longest, len(cell))
        if cell in self.distinct or len(self.distinct) < _DISTINCT:
            self.distinct[cell] = self.distinct.get(cell, 0) + 1

    def _take_number(self, number: float) -> None:
        is_first = self.kinds.get("integer", 0) + self.kinds.get("number", 0) == 1
        self.low = number if is_first else min(self.low, number)
        self.high = number if is_first else max(self.high, number)

    @property
    def kind(self) -> str:
        """The narrowest type that all cells have which are there."""
        kinds = set(self.kinds)
        if not kinds:
            return "empty"
        if kinds <= {"integer", "number"}:
            return "number" if "number" in kinds else "integer"
        return kinds.pop() if len(kinds) == 1 else "text"

    def __str__(self) -> str:
        """The column in a line."""
        words = {"integer": self._span, "number": self._span, "date": self._dates}
        said = words.get(self.kind, self._values)()
        missing = f", {self.missing:,} missing" if self.missing else ""
        return f"{self.name}: {self.kind}{said}{missing}"

    def _span(self) -> str:
        return f", {self.low:.12g} to {self.high:.12g}"

    def _dates(self) -> str:
        return f", {self.first} to {self.last}"

    def _values(self) -> str:
        if not self.distinct or self.kind == "true/false":
            return ""
        many = len(self.distinct)
        common = sorted(self.distinct, key=lambda cell: -self.distinct[cell])[:3]
        shown = ", ".join(f'"{_short(cell, 24)}"' for cell in common)
        over = "over " if many >= _DISTINCT else ""
        return f", {over}{many:,} different, such as {shown}, at most {self.longest:,} characters"


def kind_of(cell: str) -> str:
    """The type of a cell in a word. Digits behind a zero are a code, not a number."""
    if _INTEGER.fullmatch(cell):
        return "integer"
    if _DECIMAL.fullmatch(cell) and not _ZEROS.match(cell):
        return "number"
    if _DATE.fullmatch(cell):
        return "date"
    return "true/false" if cell.lower() in _TRUTH else "text"


def headed_table(text: str, _room: int = 0) -> list[str]:
    """Rows and columns of a text that is a table with a header; nothing if it is not."""
    for delimiter in _DELIMITERS:
        rows = _sample(text, delimiter, ragged=True)
        if not rows or not _is_header(rows[0]):
            continue
        # without a column of numbers or dates it may be a text with as many commas in each line
        whole = [row for row in rows[1:] if len(row) == len(rows[0])]
        is_even = len(whole) == len(rows) - 1
        if any(map(_is_typed, zip(*whole, strict=True))) or (is_even and _is_wordy(rows)):
            return _described(text, delimiter, [_short(name) or "(no name)" for name in rows[0]])
    return []


def plain_table(text: str, _room: int = 0) -> list[str]:
    """As `headed_table`, for one without a header: three columns, one of them numbers or dates."""
    for delimiter in _DELIMITERS:
        rows = _sample(text, delimiter)
        if rows and len(rows[0]) >= 3 and any(map(_is_typed, zip(*rows, strict=True))):
            return _described(text, delimiter, [])
    return []


def _sample(text: str, delimiter: str, *, ragged: bool = False) -> list[list[str]]:
    """The first rows, if each, or when `ragged` most, have as many cells as the first one."""
    first = text[: text.find("\n") + 1] or text[:1]
    if delimiter not in first:
        return []
    try:
        rows = list(islice(_rows(text[:262_144], delimiter), _SAMPLE + 1))
    except csv.Error:
        return []
    rows = rows[:-1]  # the last one may be cut
    width = len(rows[0]) if rows else 0
    if len(rows) < _LEAST or not 2 <= width <= _WIDEST:
        return []
    others = sum(len(row) != width for row in rows)
    return rows if others <= (_RAGGED * len(rows) if ragged and width > 2 else 0) else []


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    return (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)


def _is_header(row: Sequence[str]) -> bool:
    names = [name.strip() for name in row]
    blank = names[1:].count("")  # the first may be: a table's row numbers have no name
    words = all(kind_of(name) == "text" and len(name) <= _NAME for name in names if name)
    return words and not blank and len(set(names)) == len(names)


def _is_wordy(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows of words are a table: three columns, and none like a part of a sentence."""
    cells = [cell.strip() for row in rows for cell in row]
    sentences = sum(cell.endswith((".", ":", "!", "?")) or len(cell.split()) > 6 for cell in cells)
    names_recur = any(row == rows[0] for row in rows[1:])
    return len(rows[0]) > 2 and not names_recur and sentences * 10 < len(cells)


def _is_typed(cells: Sequence[str]) -> bool:
    present = [cell.strip() for cell in cells if cell.strip().lower() not in _MISSING]
    return bool(present) and all(kind_of(cell) != "text" for cell in present)


def _described(text: str, delimiter: str, names: Sequence[str]) -> list[str]:
    rows = _rows(text, delimiter)
    try:
        first = next(rows)
        width = len(first)
        columns = [Column(name) for name in names] or [Column(f"{i + 1}") for i in range(width)]
        count, looked, ragged = _take(rows if names else chain([first], rows), columns)
    except csv.Error:  # a cell longer than any table has
        return []
    title = (
        f"Table, separated by {_DELIMITERS[delimiter]}: {count:,} rows, {width:,} columns, "
        f"{'and a header' if names else 'no header'}"
    )
    title += f"; rows with another number of cells: {ragged:,}" if ragged else ""
    title += f"; figures from the first {looked:,} rows" if looked < count else ""
    return [title, *(f"  {column}" for column in columns)]


def _take(rows: Iterator[list[str]], columns: Sequence[Column]) -> tuple[int, int, int]:
    """Rows, rows looked at, and rows with another number of cells."""
    count = ragged = looked = 0
    most = _CELLS // len(columns)
    for row in rows:
        count += 1
        ragged += len(row) != len(columns)
        if looked < most:
            looked += 1
            for column, cell in zip(columns, row, strict=False):
                column.take(cell)
    return count, looked, ragged


def _short(text: str, most: int = _NAME) -> str:
    flat = " ".join(text.lstrip("\ufeff").split())
    return flat if len(flat) <= most else f"{flat[:most]}…"
