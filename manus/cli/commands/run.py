"""`manus chat`, `run`, `flow` and `resume`: what is to be worked on, and with which choices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from manus.cli.options import last_option, new_run_options, resolve_thread, run_options, thread_id
from manus.runs.options import RunOptions
from manus.store.thread_id import NEWEST

if TYPE_CHECKING:
    from manus.cli.run import Prepare
    from manus.config.settings import Settings
    from manus.runs.attachments import Request
    from manus.runs.jobs import Job
    from manus.store.base import Store


@click.command()
@click.option("--thread", metavar="ID", type=thread_id, help="Go on with a thread.")
@last_option
@run_options
def chat(thread: str | None, last: bool, **chosen: Any) -> int:
    """Talk with the agent (as `manus` does alone, or with options alone)."""
    from manus.cli.conversation import Conversation
    from manus.cli.questions import someone_is_there
    from manus.state.errors import UsageError

    if not someone_is_there():
        raise UsageError("A conversation needs a terminal; `manus run` takes a request from stdin.")
    meant = resolve_thread(thread, last=last) if thread or last else None
    return Conversation(RunOptions(**chosen, chat=True)).talk(meant)


@click.command()
@new_run_options
def run(**chosen: Any) -> int:
    """Work on a request."""
    return _begin("agent", RunOptions(**chosen))


@click.command()
@new_run_options
@click.option("--approve-plan", is_flag=True, help="Show each plan and wait until you approve it.")
def flow(**chosen: Any) -> int:
    """Plan a request first, then work on the plan step by step."""
    return _begin("flow", RunOptions(**chosen))


@click.command()
@click.argument("named", metavar="THREAD", required=False, type=thread_id)
@click.option("--thread", metavar="ID", type=thread_id, help="The same, as `run` takes it.")
@last_option
@click.option(
    "--answer",
    metavar="TEXT",
    multiple=True,
    help="Answer to the open question; once for each, in their order, where several are open.",
)
@run_options
def resume(named: str | None, thread: str | None, last: bool, **chosen: Any) -> int:
    """Go on with a thread that was stopped, or answer its question."""
    return go_on(RunOptions(**chosen), resolve_thread(named, thread, last=last))


def go_on(args: RunOptions, meant: str) -> int:
    """Go on with a thread; the exit code."""
    from manus.cli.folder_trust import ask_for_file_trust
    from manus.cli.logs import set_up_logging
    from manus.cli.settings import read_settings

    settings = read_settings()
    ask_for_file_trust(replace(args, thread=meant or None, last=meant == NEWEST), settings)
    set_up_logging()

    async def prepare(store: Store, thread_id: str) -> Job:
        from manus.runs.jobs import create_resume_job

        return await create_resume_job(thread_id, args, settings, store)

    return _work(args, settings, prepare, meant)


def _begin(kind: str, args: RunOptions) -> int:
    from manus.cli.questions import read_request
    from manus.cli.settings import read_settings

    if args.last and args.thread:
        resolve_thread(args.thread, last=True)
    settings = read_settings()
    return begin(kind, args, read_request(args.prompt), settings)


def begin(kind: str, args: RunOptions, request: Request, settings: Settings) -> int:
    """Work on a request; return the exit code."""
    from manus.cli.folder_trust import ask_for_file_trust
    from manus.cli.logs import set_up_logging
    from manus.runs.attachments import attach_files, build_input
    from manus.runs.configuration import check_model

    folder = ask_for_file_trust(args, settings)
    request = attach_files(request, args.files, folder)
    given = build_input(request, args.images)
    set_up_logging()
    _choose_recording(settings, args)
    check_model(settings.for_role("main").at(args.model, None))

    async def prepare(store: Store, thread_id: str) -> Job:
        from manus.runs.jobs import create_job

        return await create_job(kind, thread_id, request.text, given, args, settings, store)

    return _work(args, settings, prepare, NEWEST if args.last else args.thread, or_new=True)


def _choose_recording(settings: Settings, args: RunOptions) -> None:
    """Take the recording of `--or-replay` for the model, where none is configured."""
    from manus.cli.screen import Screen
    from manus.models.providers import REPLAY, is_configured

    if args.or_replay is None or is_configured(settings.for_role("main").at(args.model, None)):
        return
    Screen(quiet=args.quiet).paragraph(
        f"No model is configured (set OPENAI_API_KEY, or MANUS_MODEL and MANUS_BASE_URL): "
        f"playing the model's turns from {args.or_replay}."
    )
    args.model = f"{REPLAY}{args.or_replay}"


def _work(
    args: RunOptions, settings: Settings, prepare: Prepare, meant: str | None, **how: Any
) -> int:
    import asyncio

    from manus.cli import startup
    from manus.cli.logs import sending_traces
    from manus.cli.screen import Screen

    screen = Screen(quiet=args.quiet)
    with screen.starting():
        startup.load()
    from manus.cli.run import Run

    with sending_traces():
        return asyncio.run(Run(args, settings, screen).work(prepare, meant, **how))
