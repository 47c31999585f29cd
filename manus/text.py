"""Words of models, tools and pages made fit for a terminal."""

from __future__ import annotations

import json
import re
from typing import Any

from rich.cells import cell_len, set_cell_size

_ESCAPE = re.compile(
    r"""
    (?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]                      # colours, cursor, clearing
    | (?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])             # titles, links, device strings
      [^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?
    | \x1b[ -/]*[0-~]                                     # the short ones
    """,
    re.VERBOSE,
)
# What is left of control characters, the marks that turn the direction of writing (they make a
# line read differently from what it is), and halves of characters, which cannot be encoded.
_DROPPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_HALVES = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without escape sequences and control characters; line breaks and tabs stay."""
    text = _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _HALVES.sub("\ufffd", _DROPPED.sub("", text))


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(clean(text).split())


def fit(line: str, width: int) -> str:
    """The line, cut with an ellipsis to a width in cells of the terminal."""
    if cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def first_line(text: str) -> str:
    """The first line that says something, and how many follow."""
    lines = [line.strip() for line in clean(text).splitlines() if line.strip()]
    if not lines:
        return "(nothing)"
    more = len(lines) - 1
    return lines[0] + (f" (+{more} line{'s' * (more > 1)})" if more else "")


def main_argument(args: Any) -> str:
    """What tells a call from another of the same tool: its short arguments, or the first one."""
    if not isinstance(args, dict):
        return flat(str(args))
    values = [v if isinstance(v, str) else json.dumps(v, default=str) for v in args.values()]
    short = [v for v in values if len(v) <= 80 and "\n" not in v.strip()]
    return flat(" ".join(short or values[:1]))


def count(number: int, noun: str) -> str:
    """`1 step`, `2 steps`, `1,204 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
