"""Texts, figures, times and endings in words, for everything that a person reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

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
    """What tells a call from another of the same tool: its short arguments, or the first one.

    Numbers alone tell nothing: of a long command with a `timeout` it is the command.
    """
    if not isinstance(args, dict):
        return flat(str(args))
    if "task" in args:  # of `delegate`, whose other argument tells little
        return flat(str(args["task"]))
    values = [v if isinstance(v, str) else json.dumps(v, default=str) for v in args.values()]
    short = [v for v in values if len(v) <= 80 and "\n" not in v.strip()]
    tells = any(value in short for value in args.values())
    return flat(" ".join(short if tells else values[:1]))


def count(number: int, noun: str) -> str:
    """`1 step`, `2 steps`, `1,204 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Ending(NamedTuple):
    """How a run ended."""

    label: str
    """In a table."""
    headline: str
    why: str
    tone: str
    """`good`, `bad` or `warn`."""


ENDINGS = {
    "terminated": Ending("finished", "Finished", "the agent ended it", "good"),
    "answered": Ending("finished", "Finished", "the agent answered", "good"),
    "completed": Ending("finished", "Finished", "every step of the plan is done", "good"),
    "max_steps": Ending(
        "step limit", "Stopped at the step limit", "all of its steps are used up", "warn"
    ),
    "budget": Ending("budget", "Stopped: a budget is used up", "a limit was reached", "warn"),
    "stuck": Ending(
        "stuck", "Stopped: stuck in a loop", "it repeated itself and could not go on", "warn"
    ),
    "interrupted": Ending("waiting", "Waiting for an answer", "a person was asked", "warn"),
    "error": Ending("error", "Failed", "it could not go on", "bad"),
    "plan_incomplete": Ending(
        "incomplete", "Not everything in the plan was done", "a step is blocked", "warn"
    ),
}
"""By stop reason."""


LOOP_MEASURES = {
    "hint": "the model is told",
    "refuse": "that call is refused now",
    "ask": "a person is asked",
}
"""What is done about a loop."""


def ending_of(stop_reason: str | None, *, success: bool | None) -> Ending:
    """The words for the end of a run; for one without a stop reason, that it has not ended."""
    if stop_reason is None:
        return Ending("unfinished", "Not finished", "", "warn")
    known = ENDINGS.get(stop_reason, Ending(stop_reason, stop_reason, "", "warn"))
    if known.tone == "good" and not success:
        return Ending("no success", "Finished without success", known.why, "bad")
    return known


def money(amount: float, currency: str) -> str:
    """`$12.30`, `$0.0123`: an amount with as many places as it takes to see it."""
    if 0 < amount < 0.0001:
        return f"<{currency}0.0001"
    return f"{currency}{amount:,.2f}" if amount >= 1 else f"{currency}{amount:.4f}"


def in_words(used: Mapping[str, Any], currency: str) -> str:
    """`12,345 tokens, $0.0123`; the money only where prices are known, nothing if nothing is."""
    tokens = used.get("input_tokens", 0) + used.get("output_tokens", 0)
    if not tokens:
        return ""
    cost = used.get("cost")
    return count(tokens, "token") + (f", {money(cost, currency)}" if cost is not None else "")


def cache_in_words(used: Mapping[str, Any]) -> str:
    """` (1,000 cached, 400 written)`: how much of the input the provider's cache had, and took."""
    cached = used.get("cached_tokens", 0)
    written = used.get("cache_write_tokens", 0)
    parts = [f"{cached:,} cached"] if cached else []
    parts += [f"{written:,} written"] if written else []
    return f" ({', '.join(parts)})" if parts else ""


_SPANS = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))


def span(seconds: float) -> str:
    """A length of time: `12 ms`, `0.4 s`, `12 s`, `3 min 05 s`, `2 h 14 min`, `3 d 04 h`."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, size, part, inner in _SPANS:
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // inner:02d} {part}"
    return f"{whole} s"


def moment(when: datetime) -> str:
    """A date and time on this machine's clock, as people write it."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


_TRACEBACK = "Traceback (most recent call last):"
_ENDED = re.compile(r"\[(exit code (?!0\b)-?\d+|killed by \w+|stopped: [^;\]\n]*)[^\]\n]*\]\s*\Z")


def gist(observation: str) -> str:
    """One line of an observation: its first; of a failed command its exit code and last line."""
    lines = [line for line in clean(observation).splitlines() if line.strip()]
    if ended := _ENDED.search(observation):
        return ": ".join([ended[1], *(line.strip() for line in lines[:-1][-1:])])
    if _TRACEBACK in observation:
        lines = [line for line in lines if line[0] not in " ["][-1:]
    return first_line("\n".join(lines))
