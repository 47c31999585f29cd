"""A text that is a log: its time span, its levels, and what its errors and warnings say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_LOOKED = 8 * 2**20
"""Characters that are read; of a longer text its beginning."""
_LEAST = 20
_SURE = 0.5
"""Part of the lines that must begin with a time or a level."""
_TEMPLATES = 2_000
_SHOWN = 40
_FAR = 120
"""Characters of a line among which its level stands."""
_TIME = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d(?: [+-]\d{4})?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d(?:[.,]\d+)?)"
)
_NAMES = "TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|FATAL|CRITICAL|SEVERE|PANIC"
_STAMP = re.compile(
    rf"(?:\[|<\d+>|\S+ \S+ \S+ \[|\[?(?:{_NAMES})\]?[ :]+\[?|(?:level=\w+ )?(?:ts|time)=\"?)?"
    rf"({_TIME})"
)
# A traceback belongs to the line before it; what it ends with is told beside the errors.
_TRACE = re.compile(
    r"\s+\S|Traceback \(most recent call last\):|During handling|The above exc|\.\.\. \d+ more"
)
_RAISED = re.compile(
    r"(?:Caused by: |Exception in thread \S+ |Uncaught )?(?:[a-z_$][\w$]*\.)*"
    r"[A-Z][\w$]*(?:Error|Exception|Interrupt|Exit|Warning|Timeout)(?::|$)"
)
_FIRST = re.compile(rf"\[?(?:{_NAMES})\]?(?:[ :|\t]|$)")
_LEVEL = re.compile(
    rf"\b({_NAMES})\b|\blevel=\"?(\w+)|\[(?:\w+:)?(trace|debug|info|notice|warn|error|crit|alert)\]"
)
_ALIKE = {
    "WARN": "WARNING",
    "ERR": "ERROR",
    "CRIT": "CRITICAL",
    "SEVERE": "ERROR",
    "ALERT": "CRITICAL",
}
_GRAVE = ("PANIC", "FATAL", "CRITICAL", "EXCEPTION", "ERROR", "WARNING")
_ORDER = (*_GRAVE, "NOTICE", "INFO", "DEBUG", "TRACE")
_VARIABLE = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b|\b0x[0-9a-fA-F]+\b"
    r"|\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b|\d+(?:[.,:]\d+)*"
)


class Figures:
    """What is counted of a log."""

    def __init__(self) -> None:
        self.levels: Counter[str] = Counter()
        self.templates: dict[tuple[str, str], list[int]] = {}
        """By level and template: how often, and the number of the first line."""
        self.first = self.last = ""
        self.raised = 0
        """Tracebacks that end with an exception."""
        self.others = 0
        """Errors and warnings beyond the templates that are kept."""

    def take(self, number: int, line: str) -> None:
        """Take one more line into account."""
        stamp = _STAMP.match(line)
        if stamp is not None:
            self.first = self.first or stamp[1]
            self.last = stamp[1]
        if stamp is None and _RAISED.match(line):
            self.raised += 1
            self._note("EXCEPTION", template_of(line), number)
            return
        found = _LEVEL.search(line, 0, _FAR)
        if found is None:
            return
        level = level_of(found)
        self.levels[level] += 1
        if level in _GRAVE:
            said = line[stamp.end() if stamp is not None else 0 :]
            self._note(level, template_of(said), number)

    def _note(self, level: str, template: str, number: int) -> None:
        entry = self.templates.get((level, template))
        if entry is not None:
            entry[0] += 1
        elif len(self.templates) < _TEMPLATES:
            self.templates[level, template] = [1, number]
        else:
            self.others += 1


def log_figures(text: str, _room: int = 0) -> list[str]:
    """What there is to say of a text that is a log; nothing if it is not."""
    if not _is_log(_probe(text)):
        return []
    figures = Figures()
    part = text if len(text) <= _LOOKED else text[: text.rfind("\n", 0, _LOOKED)]
    for number, line in enumerate(part.split("\n"), start=1):
        figures.take(number, line)
    return [_title(text, part, figures), *_grave(figures)]


def _probe(text: str) -> list[str]:
    """Some lines of the beginning, the middle and the end."""
    middle = len(text) // 2
    parts = (text[:32_768], text[middle : middle + 32_768], text[-32_768:])
    lines: list[str] = []
    for part in parts if len(text) > 98_304 else (text,):
        lines += part.split("\n")[1:-1] if part is not text else text.split("\n")
    return [line for line in lines if line.strip()]


def _is_log(lines: Sequence[str]) -> bool:
    if len(lines) < _LEAST:
        return False
    sure = sum(bool(_STAMP.match(line) or _FIRST.match(line)) for line in lines)
    beside = sum(bool(_TRACE.match(line) or _RAISED.match(line)) for line in lines)
    return sure >= _LEAST / 2 and sure >= _SURE * (len(lines) - beside)


def level_of(found: re.Match[str]) -> str:
    """The level that was found, in one name for each."""
    name = (found[1] or found[2] or found[3]).upper()
    return _ALIKE.get(name, name)


def template_of(line: str) -> str:
    """A line with its numbers, addresses and ids folded, so that alike lines are one."""
    return " ".join(_VARIABLE.sub("#", line[:400]).split()).lstrip(" ]:|-,")[:_FAR]


def _title(text: str, part: str, figures: Figures) -> str:
    lines = text.count("\n") + (not text.endswith("\n"))
    span = f", {figures.first} to {figures.last}" if figures.first else ""
    known = [level for level in _ORDER if figures.levels[level]]
    rest = [level for level in figures.levels if level not in known]
    counts = ", ".join(f"{level} {figures.levels[level]:,}" for level in (*known, *rest[:5]))
    title = f"Log: {lines:,} lines{span}; {counts or 'no levels'}"
    title += f"; exceptions {figures.raised:,}" if figures.raised else ""
    if len(part) < len(text):
        title += f"; counted in the first {part.count(chr(10)) + 1:,} lines"
    return title


def _grave(figures: Figures) -> Iterable[str]:
    """The different errors and warnings, the gravest first and of these the most frequent."""
    if not figures.templates:
        return
    yield "  different errors and warnings, numbers as #:"
    entries = sorted(
        figures.templates.items(),
        key=lambda entry: (_GRAVE.index(entry[0][0]), -entry[1][0], entry[1][1]),
    )
    for (_, template), (count, number) in entries[:_SHOWN]:
        times = f"{count:,} times, first in" if count > 1 else "once, in"
        yield f"  {times} line {number:,}: {template}"
    if len(entries) > _SHOWN:
        yield f"  {len(entries) - _SHOWN:,} others"
    if figures.others:
        yield f"  {figures.others:,} lines more of other kinds"
