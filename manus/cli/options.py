"""Click options shared by several commands."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from manus.runs.options import Limits
from manus.threads.thread_id import LONGEST_THREAD_ID, NEWEST

Command = TypeVar("Command", bound=Callable[..., Any])
_AMOUNT = re.compile(r"(\d[\d_]*\.?\d*|\.\d+)([a-z]*)", re.ASCII)
_AGE = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_AGE_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_THOUSANDS = {"k": 1_000, "m": 1_000_000}
_UNITS = {"cost": {}, "seconds": {"s": 1, "m": 60, "min": 60, "h": 3_600}}
"""Units by kind of limit; all others are counts."""


def thread_id(text: str) -> str:
    """Check a thread id: short, printable, without spaces at its ends."""
    if not text or text != text.strip() or len(text) > LONGEST_THREAD_ID or not text.isprintable():
        raise click.BadParameter(
            f"{text[:40]!r} is not a valid thread id: 1 to {LONGEST_THREAD_ID} printable characters"
        )
    return text


def parse_limits(text: str) -> Limits:
    """Parse limits such as `tokens=200k,cost=0.50,seconds=10m`.

    Raises:
        BadParameter: there is no limit, or an invalid one.
    """
    from pydantic import ValidationError

    from manus.state.usage import Budget

    values: Limits = {}
    for part in filter(None, map(str.strip, text.lower().split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        kind = name.replace("-", "_")
        if kind not in Budget.model_fields:
            names = ", ".join(Budget.model_fields)
            raise click.BadParameter(f"unknown limit {part!r}; the limits are {names}")
        amount = _AMOUNT.fullmatch(value)
        units = {"": 1, **_UNITS.get(kind, _THOUSANDS)}
        if amount is None or amount[2] not in units:
            raise click.BadParameter(f"{kind} has no valid amount: {value!r}; write {kind}=100")
        values[kind] = round(float(amount[1].replace("_", "")) * units[amount[2]], 9)
    if not values:
        raise click.BadParameter("no limit given; write tokens=200k")
    try:
        Budget.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        raise click.BadParameter(f"{problem['loc'][0]} is invalid: {problem['msg']}") from None
    return values


def parse_age(text: str) -> timedelta:
    """Parse an age such as `30d`, `12h`, `90m` or `2w`.

    Raises:
        BadParameter: it is not an age.
    """
    match = _AGE.fullmatch(text.strip().lower())
    try:
        if match is not None:
            return timedelta(**{_AGE_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        pass
    raise click.BadParameter(
        f"{text[:40]!r} is not an age; write a whole number with m, h, d or w, such as 30d"
    )


COUNT = click.IntRange(min=1)
PORT = click.IntRange(0, 65_535)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

last_option = click.option(
    "-c", "--last", is_flag=True, help="Use the newest thread, instead of an id."
)


def resolve_thread(*ids: str | None, last: bool) -> str:
    """Return the given thread id, or `NEWEST`.

    Raises:
        UsageError: no id was given, or different ones.
    """
    candidates = set(filter(None, ids))
    if last:
        candidates.add(NEWEST)
    if len(candidates) > 1:
        names = " and ".join(name or "--last" for name in sorted(candidates))
        raise click.UsageError(f"{names} are different threads; specify only one")
    if not candidates:
        raise click.UsageError("Missing argument THREAD (-c selects the newest thread)")
    return candidates.pop()


def thread_argument(command: Command) -> Command:
    """Add THREAD and `-c` to a command, which gets the result of `resolve_thread` as `thread`."""

    @functools.wraps(command)
    def with_thread(thread: str | None, last: bool, **options: Any) -> Any:
        return command(thread=resolve_thread(thread, last=last), **options)

    argument = click.argument("thread", metavar="THREAD", required=False, type=thread_id)
    return argument(last_option(with_thread))  # type: ignore[return-value]


workspace_option = click.option(
    "--workspace",
    metavar="DIR",
    help="Directory to work in. [default: this folder inside a project, else ./workspace]",
)

_RUN_OPTIONS = (
    workspace_option,
    click.option(
        "--max-steps",
        metavar="N",
        type=COUNT,
        help="Maximum number of steps. [default: from the profile]",
    ),
    click.option(
        "--budget",
        metavar="LIMITS",
        type=parse_limits,
        multiple=True,
        help="Limits, e.g. tokens=200k,cost=0.50 (also seconds, model_calls, tool_calls).",
    ),
    click.option("--profile", metavar="NAME", help="Agent profile. [default: manus]"),
    click.option("--model", metavar="PROVIDER:NAME", help="Model to use, or replay:FILE."),
    click.option("--local", is_flag=True, help="Use the model server on this machine."),
    click.option("--record", metavar="FILE", help="Record the model's turns in a file."),
    click.option(
        "--reuse",
        metavar="FILE",
        type=_FILE,
        callback=lambda _context, _parameter, path: path and str(path),
        help="Recording of a stopped run: its turns are replayed, and the model is asked for the "
        "others.",
    ),
    click.option(
        "--approve",
        metavar="MODE",
        type=click.Choice(["ask", "auto", "yolo", "refuse"]),
        help="Which tool calls need approval: `ask` = every call that modifies something, `auto` = "
        "only calls that leave the sandbox, `yolo` = none. `refuse` = like `auto`, but refuse "
        "calls that need approval and list them at the end. [default: auto]",
    ),
    click.option(
        "--allow",
        metavar="RULE",
        multiple=True,
        help="Calls that need no approval, such as git, host(example.org), bash(make *).",
    ),
    click.option("--json", is_flag=True, help="Same as --output-format json."),
    click.option(
        "--output-format",
        metavar="FORMAT",
        type=click.Choice(["text", "json", "jsonl"]),
        help="Format of stdout: the answer as `text`, the outcome as one `json` object, or each "
        "event and the outcome as a `jsonl` line. [default: text]",
    ),
    click.option(
        "-o",
        "--output",
        "output_file",
        metavar="FILE",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help="Also write the answer to a file.",
    ),
    click.option(
        "--output-schema",
        metavar="FILE",
        type=_FILE,
        help="JSON Schema that the answer must match (not with `flow`).",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print no progress on stderr."),
    click.option("-v", "--verbose", is_flag=True, help="Print all replies, calls and outputs."),
)
_NEW_RUN_OPTIONS = (
    click.argument("prompt", nargs=-1, metavar="[PROMPT]..."),
    click.option(
        "--thread",
        metavar="ID",
        type=thread_id,
        help="Continue this thread, or name a new one.",
    ),
    last_option,
    click.option(
        "-f",
        "--file",
        "files",
        metavar="FILE",
        type=_FILE,
        multiple=True,
        help="Attach a text file.",
    ),
    click.option(
        "--image", "images", metavar="FILE", type=_FILE, multiple=True, help="Attach an image."
    ),
    click.option(
        "--or-replay", metavar="FILE", help="Replay this recording if no model is configured."
    ),
    click.option(
        "--queue", is_flag=True, help="Print the thread's id; a `manus worker` executes the run."
    ),
    click.option(
        "--each-line", is_flag=True, help="With --queue: queue each line of stdin as a task."
    ),
)


def run_options(command: Command) -> Command:
    """Add the options of `run`, `flow`, `resume` and `chat` to a command."""
    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return command


def new_run_options(command: Command) -> Command:
    """Add the options of `run` and `flow`: also the request, thread and attachments."""
    command = run_options(command)
    for option in reversed(_NEW_RUN_OPTIONS):
        command = option(command)
    return command
