"""The notes that replace messages: lines that name their sources, checked against them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal, InvalidOperation

from prompts import compaction as prompts

_CITATION = re.compile(r"\[\s*#\d+(?:\s*[,;–-]\s*#?\d+)*\s*\]")
_CITED = re.compile(r"\d+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text, in one form each: `1,234` is `1234`, and `3.50` is `3.5`."""
    return frozenset(map(_plain, _NUMBER.findall(text)))


def _plain(number: str) -> str:
    if _THOUSANDS.fullmatch(number):
        number = number.replace(",", "")
    try:
        return format(Decimal(number).normalize(), "f")
    except InvalidOperation:  # a version, an address, a list
        return number


def checked_lines(reply: str, source: str, known: Collection[int]) -> list[str]:
    """The lines of a reply that name known messages and hold no number that is not in the source.

    `known` are the numbers of the messages that may be named.
    """
    numbers = numbers_in(source)
    lines = (_checked(line, numbers, known) for line in reply.splitlines())
    return list(dict.fromkeys(line for line in lines if line))


def _checked(line: str, numbers: Collection[str], known: Collection[int]) -> str:
    cited = {int(n) for found in _CITATION.findall(line) for n in _CITED.findall(found)}
    said = without_citations(_BULLET.sub("", line)).strip()
    valid = sorted(cited & set(known))
    if not said or not valid or not numbers_in(said) <= set(numbers):
        return ""
    return f"- {said} [{', '.join(f'#{n}' for n in valid)}]"


def without_citations(line: str) -> str:
    """A line without the numbers of its messages."""
    return _CITATION.sub("", line)


def bounded(lines: Sequence[str], most: int) -> list[str]:
    """As many of the newest lines as fit into so many characters, and a line about the others."""
    kept: list[str] = []
    size = 0
    for line in reversed(lines):
        size += len(line) + 1
        if size > most:
            return [prompts.older_left_out(len(lines) - len(kept)), *reversed(kept)]
        kept.append(line)
    return list(reversed(kept))


def quoted(reply: str, source: str) -> list[str]:
    """The lines of a reply that stand in the source word for word."""
    flat = " ".join(source.split())
    lines = (" ".join(_BULLET.sub("", line).split()).strip("\"'“”") for line in reply.splitlines())
    return list(dict.fromkeys(line for line in lines if line and line in flat))


def bare_lines(steps: Iterable[tuple[int, int, str]]) -> list[str]:
    """Notes made without a model: one line a step, from (first number, last number, text)."""
    return [
        f"- {text} [{f'#{first}' if first == last else f'#{first}, #{last}'}]"
        for first, last, text in steps
        if text
    ]
