"""`manus chat`, `run`, `flow` and `resume`: start or resume a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from manus.cli.options import last_option, new_run_options, resolve_thread, run_options, thread_id
from manus.cli.queue_runs import queue_runs
from manus.cli.start_run import resume_thread, start_run
from manus.runs.options import RunOptions

if TYPE_CHECKING:
    pass


@click.command()
@click.option("--thread", metavar="ID", type=thread_id, help="Continue this thread.")
@last_option
@run_options
def chat(thread: str | None, last: bool, **options: Any) -> int:
    """Talk with the agent in the terminal (the default command)."""
    from manus.cli.conversation import Conversation
    from manus.cli.questions import is_interactive
    from manus.state.errors import UsageError

    if not is_interactive():
        raise UsageError(
            "`manus chat` needs a terminal; `manus run` also reads a request from stdin."
        )
    selected = resolve_thread(thread, last=last) if thread or last else None
    return Conversation(RunOptions(**options, chat=True)).talk(selected)


@click.command()
@new_run_options
def run(**options: Any) -> int:
    """Work on one request."""
    return _start("agent", RunOptions(**options))


@click.command()
@new_run_options
@click.option("--approve-plan", is_flag=True, help="Ask for your approval of each plan.")
def flow(**options: Any) -> int:
    """Plan a request, then execute the plan step by step."""
    return _start("flow", RunOptions(**options))


@click.command()
@click.argument("thread_argument", metavar="THREAD", required=False, type=thread_id)
@click.option("--thread", metavar="ID", type=thread_id, help="Same as THREAD.")
@last_option
@click.option(
    "--answer",
    metavar="TEXT",
    multiple=True,
    help="Answer to the open question. Repeat it, in order, for several questions.",
)
@run_options
def resume(thread_argument: str | None, thread: str | None, last: bool, **options: Any) -> int:
    """Resume a stopped thread, or answer its question."""
    return resume_thread(RunOptions(**options), resolve_thread(thread_argument, thread, last=last))


def _start(kind: str, args: RunOptions) -> int:
    from manus.cli.questions import read_request
    from manus.cli.settings import read_settings

    if args.last and args.thread:
        resolve_thread(args.thread, last=True)
    settings = read_settings()
    if args.queue or args.each_line:
        return queue_runs(kind, args, settings)
    return start_run(kind, args, read_request(args.prompt), settings)
