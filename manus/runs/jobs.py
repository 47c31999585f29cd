"""What is to be worked on: a request on a thread, or what is left of one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from langgraph.types import Command, Interrupt

from manus.config.context import HELD, Context
from manus.config.settings import Settings
from manus.graph.outcome import Outcome, is_over, outcome_of
from manus.graph.state_update import reopen
from manus.runs.configuration import build_context, check_model, check_presence, check_workspace
from manus.runs.options import RunOptions
from manus.state.errors import UsageError
from manus.store.checkpoint import Store
from manus.store.threads import Thread, get_thread, read_thread, thread_config

REQUEST_SHOWN = 100
"""Characters of the request that each checkpoint carries, for the list of threads."""


def _now() -> str:
    return datetime.now(UTC).isoformat()


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be worked on."""

    thread_id: str
    kind: str
    """`agent` or `flow`."""
    profile: str
    context: Context
    request: str
    """The thread's first in words, as far as it is known."""
    graph: Any
    """Compiled, with the saver of the open store."""
    given: Any
    """The graph's input: a request, a command, or None to go on."""
    pending: Outcome | None = None
    """Where the run stands, with questions that are to be asked first."""
    stays: bool = False
    """Whether there is nothing to be worked on: the run is told as it stands."""
    at: str | None = None
    """The checkpoint to go back to first, where that is not the newest."""
    started: str = field(default_factory=_now)
    """When it was taken up: where that changes within a run, it stood still until then."""
    stood: str = ""
    """Since when, where this process knows it."""

    def config(self) -> Any:
        """The configuration of the run.

        Its metadata goes into every checkpoint, so that a run can be resumed as it was begun even
        if it died before its first node was done. LangGraph keeps plain values of it only.
        """
        chosen = self.context.model_dump_json(
            include={"model", "max_steps", "approve_plan", "approve", "budget"},
            exclude_defaults=True,
        )
        return {
            "configurable": {
                "thread_id": self.thread_id,
                HELD: True,
                **({"checkpoint_id": self.at} if self.at else {}),
            },
            "metadata": {
                "graph": self.kind,
                "profile": self.profile,
                "workspace": self.context.workspace,
                "request": self.request[:REQUEST_SHOWN],
                "started": self.started,
                **({"stood": self.stood} if self.stood else {}),
                "chosen": chosen,
            },
        }


Show = Callable[[str, Any], Awaitable[None]]
"""Is told each part of a run's stream, with its mode."""
Continue = Callable[[Job, Outcome], Awaitable[Job | None]]
"""Gives what a run that stands still goes on with; None where it stays as it is."""
ENDED_EARLY = ("max_steps", "budget", "stuck", "error", "plan_incomplete")
"""Why a run that has ended may be gone on with."""


def extend_steps(context: Context, run: Mapping[str, Any], chosen: int | None = None) -> Context:
    """The context in which a run that used up its steps goes on: with as many again, or as chosen.

    Raises:
        UsageError: no more were chosen than it has used.
    """
    if chosen is not None and chosen <= run["step"]:
        raise UsageError(
            f"The run has used {run['step']} steps already: give more than that with --max-steps."
        )
    more = chosen or run["step"] + run["max_steps"]
    return context.model_copy(update={"max_steps": more})


async def create_job(
    kind: str,
    thread: str,
    request: str,
    given: Any,
    args: RunOptions,
    settings: Settings,
    store: Store,
) -> Job:
    """A request on a thread, which may be new.

    Raises:
        UsageError: the thread is of the other kind, or the workspace cannot be used.
    """
    known = await read_thread(store, thread)
    if known is not None and known.kind != kind:
        right = "flow" if known.kind == "flow" else "run"
        raise UsageError(
            f"The thread {thread} was begun by `manus {right}`, and goes on by "
            f"`manus {right} --thread {thread} …`."
        )
    profile = args.profile or (known and known.profile) or settings.profile
    context = build_context(args, **({"workspace": known.workspace} if known else {}))
    context = check_presence(context, settings)
    graph = build(kind, profile, store)
    context = await _with_workspace(settings, context)
    request = (known and known.request) or request  # a thread is known by its first one
    return Job(thread, kind, profile, context, request, graph, given)


async def create_resume_job(
    thread_id: str,
    args: RunOptions,
    settings: Settings,
    store: Store,
    answers: Mapping[str, str] | None = None,
) -> Job:
    """What is left to be done on a thread, with answers to its questions.

    They are given by the questions' ids, or are those of `args`.

    Raises:
        UsageError: there is no such thread, or there are answers to no open question.
    """
    thread = await get_thread(store, thread_id)
    profile = args.profile or thread.profile or settings.profile
    graph = build(thread.kind, profile, store)
    snapshot = await graph.aget_state(thread_config(thread_id))
    outcome = outcome_of(snapshot)
    has_ended = is_over(snapshot)
    context = build_context(args, workspace=thread.workspace, **thread.chosen)
    context = check_presence(context, settings)
    given = _answers_to(() if has_ended else outcome.questions, answers, args, thread_id)
    job = Job(thread_id, thread.kind, profile, context, thread.request, graph, given)
    is_done = has_ended and outcome.stop_reason not in ENDED_EARLY
    if is_done:
        sys.stderr.write(f"There is nothing to resume: the thread {thread_id} has ended.\n")
    # a run whose model was away is asked nothing: it tries again
    asks = outcome.asks_person and given is None
    if is_done or (asks and not context.interactive):
        return replace(job, pending=outcome, stays=True)
    if has_ended and outcome.stop_reason == "max_steps":
        context = extend_steps(context, snapshot.values["run"], args.max_steps)
    check_model(settings.for_role("main").at(context.model, None))
    context = await _with_workspace(settings, context)
    if has_ended:
        await reopen(graph, thread_config(thread_id))
    return replace(job, context=context, pending=outcome if asks else None)


def _answers_to(
    asked: Sequence[Interrupt], given: Mapping[str, str] | None, args: RunOptions, thread_id: str
) -> Command[Any] | None:
    """The answers by the ids of their questions: as they are given, or in the questions' order."""
    if given is None:
        answers = {question.id: text for question, text in zip(asked, args.answer, strict=False)}
    else:
        answers = {question.id: given[question.id] for question in asked if question.id in given}
    if given and not answers:
        raise UsageError("This question is not open any more.")
    if len(args.answer) > len(asked):
        raise UsageError(
            f"There are more answers than open questions ({len(asked)}) on the thread {thread_id}; "
            f"`manus show {thread_id}` tells what it waits for."
        )
    return Command(resume=answers) if answers else None


async def run_job(job: Job, modes: list[str], show: Show, go_on: Continue | None = None) -> Outcome:
    """Stream a run, and stream on with what `go_on` makes of it each time that it stands still.

    Whoever calls sees to its cancellation; what the run keeps open is closed in any case, since
    this process will not go on with it.
    """
    outcome = job.pending
    try:
        while True:
            if outcome is None:
                # a flow's steps are graphs inside a graph: what happens in them is shown alike
                options: Any = {"stream_mode": modes, "subgraphs": True, "durability": "sync"}
                stream = job.graph.astream(job.given, job.config(), context=job.context, **options)
                async with aclosing(stream) as parts:
                    async for _, mode, data in parts:
                        await show(mode, data)
                job = replace(job, at=None)
                outcome = outcome_of(await job.graph.aget_state(job.config()))
            stood = _now()
            more = await go_on(job, outcome) if go_on and not job.stays else None
            if more is None:
                return outcome
            job = replace(more, started=_now(), stood=stood)
            outcome = None
    finally:
        await job.graph.close_waiting()


def build(kind: str, profile: str, saver: Any = None) -> Any:
    """The compiled graph of a kind (`agent` or `flow`), with the saver attached.

    Raises:
        SettingsError: there is no such profile.
    """
    from manus import build_agent, build_flow

    if kind == "agent":
        return build_agent(profile, checkpointer=saver)
    from manus.graph.profiles import all_executors

    return build_flow(all_executors(profile), checkpointer=saver)


async def read_outcome(store: Store, thread: Thread) -> Outcome:
    """How the newest run of a thread stands."""
    # The profile makes no difference to reading, and a user's own one may not be known here.
    graph = build(thread.kind, "manus", store)
    return outcome_of(await graph.aget_state(thread_config(thread.thread_id)))


async def _with_workspace(settings: Settings, context: Context) -> Context:
    """The context with the place of its workspace, which is made."""
    place = await asyncio.to_thread(check_workspace, settings, context)
    return context.model_copy(update={"workspace": str(place)})
