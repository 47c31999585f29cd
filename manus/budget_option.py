"""The option `--budget`: limits of a run as a person writes them, `tokens=200k,cost=0.50`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import click

_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}
_TIMES = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3_600}
_COUNTS = {"tokens": 1, "model_calls": 1, "tool_calls": 0}
"""What is counted in whole numbers, and the least of it that can be a limit."""
KINDS = ("tokens", "cost", "seconds", "model_calls", "tool_calls")
_AMOUNT = re.compile(r"(\d[\d_]*\.?\d*|\.\d+)([a-z]*)", re.ASCII)
_WANTED = {
    "tokens": "a whole number of at least 1, as in 200k or 1.5m",
    "model_calls": "a whole number of at least 1",
    "tool_calls": "a whole number, 0 for none",
    "cost": "an amount above 0, as in 0.50",
    "seconds": "a time above 0, as in 90, 10m or 2h",
}

Limits = dict[str, float]


def limits_option(text: str) -> Limits:
    """`limits` for an option, which can be given more than once: the last word on one counts."""
    try:
        return limits(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def limits(text: str) -> Limits:
    """The limits that a text names, by kind.

    Raises:
        ValueError: it names none, or one that does not fit.
    """
    found = dict(_limit(part.strip()) for part in text.split(",") if part.strip())
    if not found:
        raise ValueError("it names no limit; write it as tokens=200k")
    return found


def _limit(part: str) -> tuple[str, float]:
    name, equals, value = (word.strip().lower() for word in part.partition("="))
    kind = name.replace("-", "_")
    if kind not in KINDS:
        raise ValueError(f"there is no limit {part!r}; known are {', '.join(KINDS)}")
    if not equals:
        raise ValueError(f"{kind} has no amount; write it as {kind}=100")
    amount = _amount(kind, value)
    if amount is None:
        raise ValueError(f"{kind} takes {_WANTED[kind]}, not {value!r}")
    return kind, amount


def _amount(kind: str, text: str) -> float | None:
    """The amount that a text means; None if it is none of this kind."""
    found = _AMOUNT.fullmatch(text)
    units = _TIMES if kind == "seconds" else _THOUSANDS if kind in _COUNTS else {"": 1}
    if found is None or found[2] not in units:
        return None
    amount = round(float(found[1].replace("_", "")) * units[found[2]], 9)
    if kind not in _COUNTS:
        return amount if 0 < amount < float("inf") else None
    fits = _COUNTS[kind] <= amount < float("inf") and amount == int(amount)
    return int(amount) if fits else None


def merged(known: str, given: Iterable[Limits]) -> Limits:
    """The limits of a thread, as `in_words` wrote them, and over them those that were given."""
    found = limits(known) if known else {}
    for one in given:
        found.update(one)
    return found


def in_words(chosen: Mapping[str, float]) -> str:
    """Limits as the option takes them; empty if there is none."""
    shown = {
        kind: f"{chosen[kind]:.9f}".rstrip("0").rstrip(".") for kind in KINDS if kind in chosen
    }
    return ",".join(f"{kind}={amount}" for kind, amount in shown.items())
