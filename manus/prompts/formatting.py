"""Format texts, numbers, times and stop reasons for people."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.cells import cell_len, set_cell_size

MAX_NAMES = 8
"""Names of a list in a sentence; the others are counted."""
_ESCAPE = re.compile(
    r"""
    (?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]                      # colors, cursor, clearing
    | (?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])             # titles, links, device strings
      [^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?
    | \x1b[ -/]*[0-~]                                     # the short ones
    """,
    re.VERBOSE,
)
# Remaining control characters, bidirectional marks (they can make a line display as something
# else), and lone surrogates, which cannot be encoded.
_DROPPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")


_SPECIAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Matches anything that `clean` changes; most texts contain none of it."""


def clean(text: str) -> str:
    """Remove escape sequences and control characters; keep line breaks and tabs."""
    if _SPECIAL.search(text) is None:
        return text
    text = _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", _DROPPED.sub("", text))


def flat(text: str) -> str:
    """Return a text as one line."""
    return " ".join(clean(text).split())


def fit(line: str, width: int) -> str:
    """Cut a line with an ellipsis to a width in terminal cells."""
    if cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def first_line(text: str) -> str:
    """Return the first non-blank line, and how many follow."""
    lines = [line.strip() for line in clean(text).splitlines() if line.strip()]
    if not lines:
        return "(nothing)"
    if len(lines) == 1:
        return lines[0]
    return f"{lines[0]} (+{count(len(lines) - 1, 'line')})"


def main_argument(args: Any) -> str:
    """Return the short arguments of a call, or the first one, to distinguish calls.

    Numbers alone do not suffice: a long command with a `timeout` is described by the command.
    """
    if not isinstance(args, dict):
        return flat(str(args))
    if "task" in args:  # the call is `delegate`; its other argument says little
        return flat(str(args["task"]))
    values = []
    for value in args.values():
        values.append(value if isinstance(value, str) else json.dumps(value, default=str))
    short = [value for value in values if len(value) <= 80 and "\n" not in value.strip()]
    has_short_text = any(value in short for value in args.values())
    return flat(" ".join(short if has_short_text else values[:1]))


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 step`, `2 steps`, `1,204 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


LOOP_MEASURES = {
    "hint": "the model gets a hint",
    "refuse": "the call is now refused",
    "ask": "the user is asked",
}
"""Measures against a loop, by name."""


def join_names(names: Sequence[str], limit: int = MAX_NAMES) -> str:
    """Return the first names as a list, and the number of the others."""
    text = ", ".join(map(clean, names[:limit]))
    hidden = len(names) - limit
    return f"{text} and {hidden:,} more" if hidden > 0 else text


def money(amount: float, currency: str) -> str:
    """Format an amount with enough decimals to be visible: `$12.30`, `$0.0123`."""
    if 0 < amount < 0.0001:
        return f"<{currency}0.0001"
    decimals = 2 if amount >= 1 else 4
    return f"{currency}{amount:,.{decimals}f}"


def in_words(used: Mapping[str, Any], currency: str) -> str:
    """Format usage as `12,345 tokens, $0.0123`; no cost without prices, empty without tokens."""
    tokens = used.get("input_tokens", 0) + used.get("output_tokens", 0)
    if not tokens:
        return ""
    cost = used.get("cost")
    text = count(tokens, "token")
    return text if cost is None else f"{text}, {money(cost, currency)}"


def cache_in_words(used: Mapping[str, Any]) -> str:
    """Format the cache reads and writes of the input: ` (1,000 cached, 400 written)`."""
    cached = used.get("cached_tokens", 0)
    writes = used.get("cache_write_tokens", 0)
    parts = []
    if cached:
        parts.append(f"{cached:,} cached")
    if writes:
        parts.append(f"{writes:,} written")
    return f" ({', '.join(parts)})" if parts else ""


_SPANS = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))


def size(number: int) -> str:
    """Format a number of bytes, such as `12 kB` or `3.4 MB`."""
    amount = float(number)
    for unit in ("B", "kB", "MB"):
        if amount < 1_000:
            is_small = unit != "B" and amount < 10
            return f"{amount:.1f} {unit}" if is_small else f"{amount:.0f} {unit}"
        amount /= 1_000
    return f"{amount:.1f} GB"


def span(seconds: float) -> str:
    """Format a duration: `12 ms`, `0.4 s`, `12 s`, `3 min 05 s`, `2 h 14 min`, `3 d 04 h`."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    rounded = round(seconds)
    for unit, size, part, inner in _SPANS:
        if rounded >= size:
            return f"{rounded // size} {unit} {rounded % size // inner:02d} {part}"
    return f"{rounded} s"


def moment(when: datetime) -> str:
    """Format a date and time in the local time zone."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


_TRACEBACK = "Traceback (most recent call last):"
_EXIT = re.compile(r"\[(exit code (?!0\b)-?\d+|killed by \w+|stopped: [^;\]\n]*)[^\]\n]*\]\s*\Z")


def gist(observation: str) -> str:
    """Return the first line of an observation; for a failed command its exit code and last line."""
    lines = [line for line in clean(observation).splitlines() if line.strip()]
    if exit_note := _EXIT.search(observation):
        return ": ".join([exit_note[1], *map(str.strip, lines[:-1][-1:])])
    if _TRACEBACK in observation:
        lines = [line for line in lines if line[0] not in " ["][-1:]
    return first_line("\n".join(lines))
