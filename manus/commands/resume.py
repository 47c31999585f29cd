"""`manus resume`: go on with a thread, or answer what it asks."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from manus.options import add_run_options, read_context, read_settings, thread_id

if TYPE_CHECKING:
    from manus.checkpoint import Store
    from manus.conduct import Job, Nothing
    from manus.graph.outcome import Outcome
    from manus.state.settings import Settings

SUMMARY = "Go on with a thread that was stopped, or answer its question"


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The thread, the answers, and the options of a run."""
    parser.add_argument(
        "thread", metavar="THREAD", nargs="?", type=thread_id, help="the thread's id"
    )
    parser.add_argument(
        "--thread", dest="named", metavar="ID", type=thread_id, help="the same, as `run` takes it"
    )
    parser.add_argument(
        "--answer",
        metavar="TEXT",
        action="append",
        default=[],
        help="answer to the open question; ID=TEXT where several are open",
    )
    add_run_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Go on with the newest run of a thread."""
    import asyncio

    from manus.logs import set_up_logging
    from manus.traces import sending_traces

    args.thread = _chosen(args)
    settings = read_settings()
    set_up_logging()
    with sending_traces():
        return asyncio.run(_resume(args, settings))


def _chosen(args: argparse.Namespace) -> str:
    """The thread, whichever way it was named.

    Raises:
        UsageError: it was not, or two were.
    """
    thread, named = args.thread, args.named
    if thread and named and thread != named:
        args.parser.error(f"{thread} and {named} are two threads: name the one to go on with")
    if not (thread or named):
        args.parser.error("the following arguments are required: THREAD")
    return str(thread or named)


async def _resume(args: argparse.Namespace, settings: Settings) -> int:
    from manus.conduct import Conductor

    async def prepare(store: Store) -> Job | Nothing:
        return await _prepare(args, settings, store)

    return await Conductor(args, settings, args.thread).work(prepare)


async def _prepare(args: argparse.Namespace, settings: Settings, store: Store) -> Job | Nothing:
    import asyncio

    from manus.conduct import Job, Nothing
    from manus.graph.outcome import is_over, outcome_of
    from manus.graphs import build
    from manus.preflight import check_model, check_workspace, main_model
    from manus.threads import config_of, get_thread

    thread = await get_thread(store, args.thread)
    profile = args.profile or thread.profile or settings.profile
    graph = build(thread.kind, profile, store.saver)
    snapshot = await graph.aget_state(config_of(args.thread))
    outcome, has_ended = outcome_of(snapshot), is_over(snapshot)
    names = ("workspace", "model", "max_steps", "approve_plan", "budget")
    known = {name: getattr(thread, name) for name in names}
    context = read_context(args, **known)
    given = _input(args, outcome, is_over=has_ended)
    if has_ended:
        sys.stderr.write(f"There is nothing to resume: the thread {args.thread} has ended.\n")
    if has_ended or (outcome.questions and given is None and not context.interactive):
        return Nothing(outcome, thread.workspace or settings.workspace)
    check_model(main_model(settings, context.model))
    place = await asyncio.to_thread(check_workspace, settings, context)
    context = context.model_copy(update={"workspace": str(place)})
    pending = outcome if outcome.questions and given is None else None
    return Job(args.thread, thread.kind, profile, context, thread.request, graph, given, pending)


def _input(args: argparse.Namespace, outcome: Outcome, *, is_over: bool) -> Any:
    """What the graph is given: the answers, or None to go on."""
    from langgraph.types import Command

    from manus.questions import match_answers

    questions = () if is_over else outcome.questions
    answers = match_answers(args.answer, questions, args.thread)
    return Command(resume=answers) if answers else None
