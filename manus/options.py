"""The options that commands share, as click knows them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Limits = dict[str, float]
"""Limits of a budget by the names of `manus.state.budget.Budget`."""
_LONGEST_ID = 200
_AMOUNT = re.compile(r"(\d[\d_]*\.?\d*|\.\d+)([a-z]*)", re.ASCII)
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}
_UNITS = {
    "tokens": _THOUSANDS,
    "cost": {"": 1},
    "seconds": {"": 1, "s": 1, "m": 60, "min": 60, "h": 3_600},
    "model_calls": _THOUSANDS,
    "tool_calls": _THOUSANDS,
}


@dataclass(slots=True)
class RunOptions:
    """What a person chose for a run, as `run`, `flow` and `resume` take it."""

    prompt: tuple[str, ...] = ()
    thread: str | None = None
    workspace: str | None = None
    max_steps: int | None = None
    budget: tuple[Limits, ...] = ()
    profile: str | None = None
    model: str | None = None
    record: str | None = None
    or_replay: str | None = None
    approve_plan: bool = False
    answer: tuple[str, ...] = ()
    json: bool = False
    quiet: bool = False


def thread_id(text: str) -> str:
    """A thread's id: short, printable, without spaces at its ends."""
    if not text or text != text.strip() or len(text) > _LONGEST_ID or not text.isprintable():
        raise click.BadParameter(
            f"{text[:40]!r} cannot be a thread's id: 1 to {_LONGEST_ID} printable characters"
        )
    return text


def limits(text: str) -> Limits:
    """Limits as in `tokens=200k,cost=0.50,seconds=10m`.

    Raises:
        BadParameter: it names none, or one that does not fit.
    """
    found = dict(_limit(part.strip().lower()) for part in text.split(",") if part.strip())
    if not found:
        raise click.BadParameter("it names no limit; write it as tokens=200k")
    return found


def _limit(part: str) -> tuple[str, float]:
    from pydantic import ValidationError

    from manus.state.budget import Budget

    name, _, value = (word.strip() for word in part.partition("="))
    kind = name.replace("-", "_")
    if kind not in _UNITS:
        raise click.BadParameter(f"there is no limit {part!r}; known are {', '.join(_UNITS)}")
    amount = _AMOUNT.fullmatch(value)
    if amount is None or amount[2] not in _UNITS[kind]:
        raise click.BadParameter(f"{kind} has no amount {value!r}; write it as {kind}=100")
    limit = round(float(amount[1].replace("_", "")) * _UNITS[kind][amount[2]], 9)
    try:
        Budget.model_validate({kind: limit})
    except ValidationError as error:
        said = error.errors()[0]["msg"]
        raise click.BadParameter(f"{part!r} does not fit: {said}") from None
    return kind, limit


COUNT = click.IntRange(min=1)
PORT = click.IntRange(0, 65_535)

thread_argument = click.argument("thread", metavar="THREAD", type=thread_id)
workspace_option = click.option(
    "--workspace",
    metavar="DIR",
    help="Directory to work in (default: this folder inside a project, else ./workspace).",
)
json_array = click.option("--json", is_flag=True, help="Print a JSON array on stdout.")
json_object = click.option("--json", is_flag=True, help="Print one JSON object on stdout.")

_OF_RUN = (
    workspace_option,
    click.option("--max-steps", metavar="N", type=COUNT, help="Step budget (the profile's)."),
    click.option(
        "--budget",
        metavar="LIMITS",
        type=limits,
        multiple=True,
        help="Limits: tokens=200k,cost=0.50 (also seconds, model_calls, tool_calls).",
    ),
    click.option("--profile", metavar="NAME", help="Kind of agent (manus)."),
    click.option("--model", metavar="PROVIDER:NAME", help="Model to use, or replay:FILE."),
    click.option("--record", metavar="FILE", help="Record the model's turns to a file."),
    click.option("--json", is_flag=True, help="Print the outcome as one JSON object."),
    click.option("--quiet", is_flag=True, help="No progress on stderr."),
)
_OF_NEW_RUN = (
    click.argument("prompt", nargs=-1, metavar="[PROMPT]..."),
    click.option(
        "--thread",
        metavar="ID",
        type=thread_id,
        help="Go on with a thread, or name a new one.",
    ),
    click.option(
        "--or-replay", metavar="FILE", help="Play this recording where no model is configured."
    ),
)


def run_options(command: Command) -> Command:
    """The options of `run`, `flow` and `resume`."""
    return _with(command, _OF_RUN)


def new_run_options(command: Command) -> Command:
    """Those and what `run` and `flow` take besides: the request and its thread."""
    return _with(command, (*_OF_NEW_RUN, *_OF_RUN))


def _with(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
