"""The options that commands share, as click knows them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from manus.runs.options import Limits
from manus.store.thread_id import LONGEST_THREAD_ID, NEWEST

Command = TypeVar("Command", bound=Callable[..., Any])
_AMOUNT = re.compile(r"(\d[\d_]*\.?\d*|\.\d+)([a-z]*)", re.ASCII)
_THOUSANDS = {"k": 1_000, "m": 1_000_000}
_UNITS = {"cost": {}, "seconds": {"s": 1, "m": 60, "min": 60, "h": 3_600}}
"""By kind of limit; all others are counted."""


def thread_id(text: str) -> str:
    """A thread's id: short, printable, without spaces at its ends."""
    if not text or text != text.strip() or len(text) > LONGEST_THREAD_ID or not text.isprintable():
        raise click.BadParameter(
            f"{text[:40]!r} cannot be a thread's id: 1 to {LONGEST_THREAD_ID} printable characters"
        )
    return text


def limits(text: str) -> Limits:
    """Limits as in `tokens=200k,cost=0.50,seconds=10m`.

    Raises:
        BadParameter: it names none, or one that does not fit.
    """
    from pydantic import ValidationError

    from manus.state.usage import Budget

    found: Limits = {}
    for part in filter(None, map(str.strip, text.lower().split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        kind = name.replace("-", "_")
        if kind not in Budget.model_fields:
            known = ", ".join(Budget.model_fields)
            raise click.BadParameter(f"there is no limit {part!r}; known are {known}")
        amount = _AMOUNT.fullmatch(value)
        units = {"": 1, **_UNITS.get(kind, _THOUSANDS)}
        if amount is None or amount[2] not in units:
            raise click.BadParameter(f"{kind} has no amount {value!r}; write it as {kind}=100")
        found[kind] = round(float(amount[1].replace("_", "")) * units[amount[2]], 9)
    if not found:
        raise click.BadParameter("it names no limit; write it as tokens=200k")
    try:
        Budget.model_validate(found)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise click.BadParameter(f"{wrong['loc'][0]} does not fit: {wrong['msg']}") from None
    return found


COUNT = click.IntRange(min=1)
PORT = click.IntRange(0, 65_535)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

last_option = click.option(
    "-c", "--last", is_flag=True, help="The newest thread, in place of an id."
)


def resolve_thread(*named: str | None, last: bool) -> str:
    """The one id that was given, or `NEWEST`.

    Raises:
        UsageError: there is none, or more than one.
    """
    given = {*filter(None, named), *([NEWEST] if last else [])}
    if len(given) > 1:
        said = " and ".join(name or "--last" for name in sorted(given))
        raise click.UsageError(f"{said} name different threads: give one of them")
    if not given:
        raise click.UsageError("Missing argument THREAD (-c is the newest one)")
    return given.pop()


def thread_argument(command: Command) -> Command:
    """THREAD or `-c`; the command gets what `resolve_thread` makes of them as `thread`."""

    @functools.wraps(command)
    def with_thread(thread: str | None, last: bool, **chosen: Any) -> Any:
        return command(thread=resolve_thread(thread, last=last), **chosen)

    named = click.argument("thread", metavar="THREAD", required=False, type=thread_id)
    return named(last_option(with_thread))  # type: ignore[return-value]


workspace_option = click.option(
    "--workspace",
    metavar="DIR",
    help="Directory to work in (default: this folder inside a project, else ./workspace).",
)

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
    click.option(
        "--approve",
        metavar="MODE",
        type=click.Choice(["ask", "auto", "yolo", "refuse"]),
        help="Which tool calls need approval: `ask` = every call that modifies something, `auto` = "
        "only calls that leave the sandbox, `yolo` = none. `refuse` = as `auto`, but refuse what "
        "would be asked and list it at the end. [default: auto]",
    ),
    click.option("--json", is_flag=True, help="Print the outcome as one JSON object."),
    click.option("-q", "--quiet", is_flag=True, help="No progress on stderr."),
    click.option("-v", "--verbose", is_flag=True, help="All of what is said, called and printed."),
)
_OF_NEW_RUN = (
    click.argument("prompt", nargs=-1, metavar="[PROMPT]..."),
    click.option(
        "--thread",
        metavar="ID",
        type=thread_id,
        help="Go on with a thread, or name a new one.",
    ),
    last_option,
    click.option(
        "-f", "--file", "files", metavar="FILE", type=_FILE, multiple=True, help="Attach a text."
    ),
    click.option(
        "--image", "images", metavar="FILE", type=_FILE, multiple=True, help="Attach a picture."
    ),
    click.option(
        "--or-replay", metavar="FILE", help="Play this recording where no model is configured."
    ),
)


def run_options(command: Command) -> Command:
    """The options of `run`, `flow` and `resume`."""
    for option in reversed(_OF_RUN):
        command = option(command)
    return command


def new_run_options(command: Command) -> Command:
    """Those and what `run` and `flow` take besides: the request and its thread."""
    command = run_options(command)
    for option in reversed(_OF_NEW_RUN):
        command = option(command)
    return command
