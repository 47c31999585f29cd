"""`manus chat`, `run`, `flow` and `resume`: start or resume a run."""

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
    """Plan a request, then carry out the plan step by step."""
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


def resume_thread(args: RunOptions, thread: str) -> int:
    """Resume a thread; return the exit code."""
    from manus.cli.folder_trust import ask_for_file_trust
    from manus.cli.logs import set_up_logging
    from manus.cli.settings import read_settings

    settings = read_settings()
    ask_for_file_trust(replace(args, thread=thread or None, last=thread == NEWEST), settings)
    set_up_logging()

    async def prepare(store: Store, thread_id: str) -> Job:
        from manus.runs.jobs import create_resume_job

        return await create_resume_job(thread_id, args, settings, store)

    return _work(args, settings, prepare, thread)


def _start(kind: str, args: RunOptions) -> int:
    from manus.cli.questions import read_request
    from manus.cli.settings import read_settings

    if args.last and args.thread:
        resolve_thread(args.thread, last=True)
    settings = read_settings()
    return start_run(kind, args, read_request(args.prompt), settings)


def start_run(kind: str, args: RunOptions, request: Request, settings: Settings) -> int:
    """Work on a request; return the exit code."""
    from manus.cli.folder_trust import ask_for_file_trust
    from manus.cli.logs import set_up_logging
    from manus.runs.attachments import attach_files, build_input
    from manus.runs.configuration import check_model

    folder = ask_for_file_trust(args, settings)
    request = attach_files(request, args.files, folder)
    graph_input = build_input(request, args.images)
    set_up_logging()
    _use_recording(settings, args)
    check_model(settings.for_role("main").at(args.model, None))

    async def prepare(store: Store, thread_id: str) -> Job:
        from manus.runs.jobs import create_job

        return await create_job(kind, thread_id, request.text, graph_input, args, settings, store)

    return _work(args, settings, prepare, NEWEST if args.last else args.thread, or_new=True)


def _use_recording(settings: Settings, args: RunOptions) -> None:
    """Replay the recording of `--or-replay` if no model is configured."""
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
    args: RunOptions,
    settings: Settings,
    prepare: Prepare,
    thread: str | None,
    *,
    or_new: bool = False,
) -> int:
    import asyncio

    from manus.cli import startup
    from manus.cli.logs import flush_traces
    from manus.cli.screen import Screen

    screen = Screen(quiet=args.quiet)
    with screen.starting():
        startup.load()
    from manus.cli.run import JobRunner

    with flush_traces():
        return asyncio.run(JobRunner(args, settings, screen).run(prepare, thread, or_new=or_new))
