"""Options that commands share, and what a command line chose with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from manus.budget_option import Limits, limits_option

Command = TypeVar("Command", bound=Callable[..., Any])
_LONGEST_ID = 200
LAST_PORT = 65_535


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


COUNT = click.IntRange(min=1)
PORT = click.IntRange(0, LAST_PORT)

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
        type=limits_option,
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
