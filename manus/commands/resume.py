"""`manus resume`: go on with a thread, or answer what it asks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from manus.options import RunOptions, run_options, thread_id

if TYPE_CHECKING:
    from manus.checkpoint import Store
    from manus.conduct import Job, Nothing
    from manus.state.settings import Settings


@click.command()
@click.argument("named", metavar="THREAD", required=False, type=thread_id)
@click.option("--thread", metavar="ID", type=thread_id, help="The same, as `run` takes it.")
@click.option(
    "--answer",
    metavar="TEXT",
    multiple=True,
    help="Answer to the open question; ID=TEXT where several are open.",
)
@run_options
def resume(named: str | None, thread: str | None, **chosen: Any) -> int:
    """Go on with a thread that was stopped, or answer its question."""
    import asyncio

    from manus import startup
    from manus.configuration import read_settings
    from manus.logs import set_up_logging
    from manus.traces import sending_traces

    if thread and named and thread != named:
        raise click.UsageError(f"{named} and {thread} are two threads: name the one to go on with")
    if not (named or thread):
        raise click.UsageError("Missing argument THREAD")
    settings = read_settings()
    set_up_logging()
    startup.load()
    with sending_traces():
        return asyncio.run(_resume(named or thread or "", RunOptions(**chosen), settings))


async def _resume(thread_id: str, args: RunOptions, settings: Settings) -> int:
    from manus.conduct import Conductor

    async def prepare(store: Store) -> Job | Nothing:
        return await _prepare(thread_id, args, settings, store)

    return await Conductor(args, settings, thread_id).work(prepare)


async def _prepare(
    thread_id: str, args: RunOptions, settings: Settings, store: Store
) -> Job | Nothing:
    import asyncio

    from langgraph.types import Command

    from manus.conduct import ENDED_EARLY, Job, Nothing, with_more_steps
    from manus.configuration import check_model, check_workspace, main_model, read_context
    from manus.graph.outcome import is_over, outcome_of
    from manus.graph.reopen import reopen
    from manus.graphs import build
    from manus.questions import match_answers
    from manus.threads import config_of, get_thread

    thread = await get_thread(store, thread_id)
    profile = args.profile or thread.profile or settings.profile
    graph = build(thread.kind, profile, store.saver)
    snapshot = await graph.aget_state(config_of(thread_id))
    outcome, has_ended = outcome_of(snapshot), is_over(snapshot)
    names = ("workspace", "model", "max_steps", "approve_plan", "budget")
    known = {name: getattr(thread, name) for name in names}
    context = read_context(args, **known)
    answers = match_answers(args.answer, () if has_ended else outcome.questions, thread_id)
    given: Any = Command(resume=answers) if answers else None
    may_go_on = has_ended and outcome.stop_reason in ENDED_EARLY
    if has_ended and not may_go_on:
        sys.stderr.write(f"There is nothing to resume: the thread {thread_id} has ended.\n")
        return Nothing(outcome, thread.workspace or settings.workspace)
    # a run whose model was away is asked nothing: it tries again
    asks = outcome.questions and not outcome.waits_for_model
    if asks and given is None and not context.interactive:
        return Nothing(outcome, thread.workspace or settings.workspace)
    if may_go_on and outcome.stop_reason == "max_steps":
        context = with_more_steps(context, snapshot.values["run"], args.max_steps)
    check_model(main_model(settings, context.model))
    place = await asyncio.to_thread(check_workspace, settings, context)
    context = context.model_copy(update={"workspace": str(place)})
    if may_go_on:
        await reopen(graph, config_of(thread_id))
    pending = outcome if asks and given is None else None
    return Job(thread_id, thread.kind, profile, context, thread.request, graph, given, pending)
