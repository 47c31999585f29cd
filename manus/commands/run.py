"""`manus run`, `flow` and `resume`: what is to be worked on, and with which choices."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from manus.options import (
    NEWEST,
    RunOptions,
    last_option,
    meant_thread,
    new_run_options,
    run_options,
    thread_id,
)

if TYPE_CHECKING:
    from pathlib import Path

    from manus.checkpoint import Store
    from manus.run import Job, Nothing, Prepare
    from manus.state.context import Context
    from manus.state.settings import Settings


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
    help="Answer to the open question; ID=TEXT where several are open.",
)
@run_options
def resume(named: str | None, thread: str | None, last: bool, **chosen: Any) -> int:
    """Go on with a thread that was stopped, or answer its question."""
    return go_on(RunOptions(**chosen), meant_thread(named, thread, last=last))


def go_on(args: RunOptions, meant: str) -> int:
    """Go on with a thread; the exit code."""
    from manus.configuration import read_settings
    from manus.logs import set_up_logging

    settings = read_settings()
    set_up_logging()

    async def prepare(store: Store, thread_id: str) -> Job | Nothing:
        return await _job_to_resume(thread_id, args, settings, store)

    return _work(args, settings, prepare, meant)


def _begin(kind: str, args: RunOptions) -> int:
    from manus.configuration import read_settings
    from manus.questions import read_request

    if args.last and args.thread:
        meant_thread(args.thread, last=True)
    settings = read_settings()
    return begin(kind, args, read_request(args.prompt), settings)


def begin(kind: str, args: RunOptions, request: str, settings: Settings) -> int:
    """Work on a request; the exit code."""
    from manus.attachments import given_of, with_files
    from manus.configuration import check_model
    from manus.logs import set_up_logging

    request = with_files(request, args.files)
    given = given_of(request, args.images)
    set_up_logging()
    _choose_recording(settings, args)
    check_model(settings.for_role("main").at(args.model, None))

    async def prepare(store: Store, thread_id: str) -> Job:
        return await _new_job(kind, thread_id, request, given, args, settings, store)

    return _work(args, settings, prepare, NEWEST if args.last else args.thread, or_new=True)


def _choose_recording(settings: Settings, args: RunOptions) -> None:
    """Take the recording of `--or-replay` for the model, where none is configured."""
    from manus.models.providers import REPLAY, is_configured
    from manus.screen import Screen

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

    from manus import startup
    from manus.screen import Screen
    from manus.traces import sending_traces

    screen = Screen(quiet=args.quiet)
    with screen.starting():
        startup.load()
    from manus.run import Run

    with sending_traces():
        return asyncio.run(Run(args, settings, screen).work(prepare, meant, **how))


async def _new_job(
    kind: str,
    thread: str,
    request: str,
    given: Any,
    args: RunOptions,
    settings: Settings,
    store: Store,
) -> Job:
    from manus.configuration import read_context
    from manus.graphs import build
    from manus.run import Job
    from manus.state.errors import UsageError
    from manus.threads import read_thread

    known = await read_thread(store, thread)
    if known is not None and known.kind != kind:
        right = "flow" if known.kind == "flow" else "run"
        raise UsageError(
            f"The thread {thread} was begun by `manus {right}`, and goes on by "
            f"`manus {right} --thread {thread} …`."
        )
    profile = args.profile or (known and known.profile) or settings.profile
    context = read_context(args, **({"workspace": known.workspace} if known else {}))
    graph = build(kind, profile, store.saver)
    context = await _with_workspace(settings, context)
    request = (known and known.request) or request  # a thread is known by its first one
    return Job(thread, kind, profile, context, request, graph, given)


async def _job_to_resume(
    thread_id: str, args: RunOptions, settings: Settings, store: Store
) -> Job | Nothing:
    from langgraph.types import Command

    from manus.configuration import check_model, read_context
    from manus.graph.outcome import is_over, outcome_of
    from manus.graph.reopen import reopen
    from manus.graphs import build
    from manus.questions import match_answers
    from manus.run import ENDED_EARLY, Job, Nothing, with_more_steps
    from manus.threads import config_of, get_thread

    thread = await get_thread(store, thread_id)
    profile = args.profile or thread.profile or settings.profile
    graph = build(thread.kind, profile, store.saver)
    snapshot = await graph.aget_state(config_of(thread_id))
    outcome, has_ended = outcome_of(snapshot), is_over(snapshot)
    context = read_context(args, workspace=thread.workspace, **thread.chosen)
    answers = match_answers(args.answer, () if has_ended else outcome.questions, thread_id)
    may_go_on = has_ended and outcome.stop_reason in ENDED_EARLY
    # a run whose model was away is asked nothing: it tries again
    asks = bool(outcome.questions) and not outcome.waits_for_model and not answers
    if has_ended and not may_go_on:
        sys.stderr.write(f"There is nothing to resume: the thread {thread_id} has ended.\n")
    if (has_ended and not may_go_on) or (asks and not context.interactive):
        return Nothing(outcome, thread.workspace or settings.workspace)
    if may_go_on and outcome.stop_reason == "max_steps":
        context = with_more_steps(context, snapshot.values["run"], args.max_steps)
    check_model(settings.for_role("main").at(context.model, None))
    context = await _with_workspace(settings, context)
    if may_go_on:
        await reopen(graph, config_of(thread_id))
    given: Any = Command(resume=answers) if answers else None
    pending = outcome if asks else None
    return Job(thread_id, thread.kind, profile, context, thread.request, graph, given, pending)


async def _with_workspace(settings: Settings, context: Context) -> Context:
    """The context with the place of its workspace, which is made."""
    import asyncio

    from manus.configuration import check_workspace

    place: Path = await asyncio.to_thread(check_workspace, settings, context)
    return context.model_copy(update={"workspace": str(place)})
