"""Jobs: a new request on a thread, or the rest of an unfinished run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from langgraph.runtime import RunControl
from langgraph.types import Command, Interrupt

from manus.config.context import HELD, Context
from manus.config.run_settings import resolve_settings
from manus.config.settings import Settings
from manus.graph import build_graph
from manus.graph.outcome import Outcome, build_outcome, is_over
from manus.graph.state_update import keep_stopped_reply, reopen
from manus.runs.configuration import build_context, check_model, check_presence, check_workspace
from manus.runs.messages import create_next_job
from manus.runs.options import RunOptions, read_schema, stored_options
from manus.state.errors import UsageError
from manus.state.messages import readable_thoughts
from manus.threads.base import Store
from manus.threads.thread_list import MAX_TITLE, Thread, get_thread, read_thread, thread_config

REQUEST_EXCERPT = 100
"""Characters of the request stored in each checkpoint, for the list of threads."""
Show = Callable[[str, Any], Awaitable[None]]
"""Receives each part of a run's stream, with its stream mode."""


class StreamedText:
    """The text of the reply that the agent is streaming; empty once the reply is stored."""

    def __init__(self) -> None:
        self.text = ""
        self._id = ""

    def read(self, mode: str, data: Any) -> None:
        """Read one part of the stream of an agent's graph."""
        if mode == "custom":
            if isinstance(data, dict) and data.get("type") == "thought":
                self.text = ""
            return
        for text_id, kind, _, text in text_chunks(*data, "think"):
            if kind == "says":
                before = self.text if text_id == self._id else ""
                self._id = text_id
                self.text = before + text


def text_chunks(
    message: Any, metadata: Mapping[str, Any], *nodes: str
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the parts of a message chunk, if one of `nodes` requested the message.

    Each part is (id of the text it continues, kind, tool name, text); the kind is `thinks`,
    `says` or `call`.
    """
    if metadata.get("langgraph_node") not in nodes or message.type != "AIMessageChunk":
        return
    for kind, text in (("thinks", readable_thoughts(message)), ("says", str(message.text))):
        if text:
            yield f"{message.id} {kind}", kind, "", text
    for call in message.tool_call_chunks:
        text_id = f"{message.id} {call.get('index')}"
        yield text_id, "call", call.get("name") or "", call.get("args") or ""


def _now() -> str:
    return datetime.now(UTC).isoformat()


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a graph on a thread, ready to be started."""

    thread_id: str
    kind: str
    """`agent` or `flow`."""
    profile: str
    context: Context
    request: str
    """The title of the thread, or its first request as text; may be empty."""
    graph: Any
    """Compiled graph with the open store as its checkpointer."""
    graph_input: Any
    """A request, a command, or None to resume."""
    pending: Outcome | None = None
    """Current outcome of the run, with questions to ask before it resumes."""
    is_report_only: bool = False
    """Whether the run cannot continue and only its outcome is reported."""
    run_id: str = ""
    """Id under which another process can take over the run; empty outside of the queue."""
    checkpoint_id: str | None = None
    """Checkpoint to fork from; None for the newest."""
    started: str = field(default_factory=_now)
    """When work started, ISO 8601. A change within one run marks a pause before it."""
    paused_at: str = ""
    """When that pause started, ISO 8601; empty if unknown."""

    def config(self) -> Any:
        """Return the configuration of the run.

        LangGraph copies its metadata into every checkpoint (plain values only), so that a run that
        died before its first node ended can be resumed with the same options.
        """
        options = self.context.model_dump_json(include=stored_options(), exclude_defaults=True)
        configurable: dict[str, Any] = {"thread_id": self.thread_id, HELD: True}
        if self.run_id:
            configurable["run_id"] = self.run_id
        if self.checkpoint_id:
            configurable["checkpoint_id"] = self.checkpoint_id
        metadata = {
            "graph": self.kind,
            "profile": self.profile,
            "workspace": self.context.workspace,
            "request": self.request[:MAX_TITLE],
            "started": self.started,
            "chosen": options,
        }
        if self.paused_at:
            metadata["stood"] = self.paused_at
        return {"configurable": configurable, "metadata": metadata}


Continue = Callable[[Job, Outcome], Awaitable[Job | None]]
"""Returns the job with which a paused run continues; None to leave it paused."""
StartNext = Callable[[Job, Outcome], None]
"""Called with the job for a waiting message, and the outcome of the run before it."""


def extend_steps(context: Context, run: Mapping[str, Any], max_steps: int | None = None) -> Context:
    """Return the context for a run that reached its step limit, with a higher limit.

    The new limit is `max_steps`, or the steps used plus the old limit.

    Raises:
        UsageError: `max_steps` does not exceed the steps already used.
    """
    if max_steps is not None and max_steps <= run["step"]:
        raise UsageError(
            f"The run has already used {run['step']} steps; set --max-steps to a higher number."
        )
    limit = max_steps or run["step"] + run["max_steps"]
    return context.model_copy(update={"max_steps": limit})


async def create_job(
    kind: str,
    thread: str,
    request: str,
    graph_input: Any,
    args: RunOptions,
    settings: Settings,
    store: Store,
) -> Job:
    """Return the job for a request on a thread, new or existing.

    Raises:
        UsageError: the thread belongs to the other graph, or the workspace is unusable.
    """
    existing = await read_thread(store, thread)
    if existing is not None:
        check_kind(existing, kind)
    profile = args.profile or (existing and existing.profile) or settings.profile
    context = build_context(args, **({"workspace": existing.workspace} if existing else {}))
    context = check_presence(context, settings)
    schema = read_schema(args.output_schema)
    graph = build_graph(kind, profile, store, response_format=schema)
    context = await _prepare_workspace(settings, context)
    request = (existing and existing.request) or request  # the list of threads shows the first one
    return Job(thread, kind, profile, context, request, graph, graph_input)


def check_kind(thread: Thread, kind: str) -> None:
    """Check that a thread can be continued by a graph of this kind.

    Raises:
        UsageError: it belongs to the other graph.
    """
    if thread.kind != kind:
        command = "flow" if thread.kind == "flow" else "run"
        raise UsageError(
            f"The thread {thread.thread_id} was started by `manus {command}`; continue it with "
            f"`manus {command} --thread {thread.thread_id} …`."
        )


async def create_resume_job(
    thread_id: str,
    args: RunOptions,
    settings: Settings,
    store: Store,
    answers: Mapping[str, str] | None = None,
) -> Job:
    """Return the job that resumes a thread, with answers to its questions.

    `answers` maps question ids to texts; None takes the answers of `args` in order.

    Raises:
        UsageError: the thread does not exist, or an answer has no open question.
    """
    thread = await get_thread(store, thread_id)
    profile = args.profile or thread.profile or settings.profile
    schema = read_schema(args.output_schema)
    graph = build_graph(thread.kind, profile, store, response_format=schema)
    snapshot = await graph.aget_state(thread_config(thread_id))
    outcome = build_outcome(snapshot)
    has_ended = is_over(snapshot)
    context = build_context(args, workspace=thread.workspace, **thread.options)
    context = check_presence(context, settings)
    command = _resume_command(() if has_ended else outcome.questions, answers, args, thread_id)
    job = Job(thread_id, thread.kind, profile, context, thread.request, graph, command)
    is_done = has_ended and not (outcome.stop_reason and outcome.can_resume)
    if is_done and answers is None and not args.answer:
        next_job = await create_next_job(job, outcome.stop_reason)
        if next_job is not None:
            check_model(resolve_settings(settings, context).for_role("main"))
            return replace(next_job, context=await _prepare_workspace(settings, context))
    if is_done:
        sys.stderr.write(f"Nothing to resume: the thread {thread_id} has finished.\n")
    # a run that paused for an unavailable model has no question: it just retries
    needs_answers = outcome.asks_person and command is None
    if is_done or (needs_answers and not context.interactive):
        return replace(job, pending=outcome, is_report_only=True)
    if has_ended and outcome.stop_reason == "max_steps":
        context = extend_steps(context, snapshot.values["run"], args.max_steps)
    check_model(resolve_settings(settings, context).for_role("main"))
    context = await _prepare_workspace(settings, context)
    if has_ended:
        await reopen(graph, thread_config(thread_id))
    return replace(job, context=context, pending=outcome if needs_answers else None)


def _resume_command(
    questions: Sequence[Interrupt],
    answers_by_id: Mapping[str, str] | None,
    args: RunOptions,
    thread_id: str,
) -> Command[Any] | None:
    """Return the command that resumes with the answers, keyed by question id; None without any."""
    if answers_by_id is None:
        pairs = zip(questions, args.answer, strict=False)
        answers = {question.id: text for question, text in pairs}
    else:
        answers = {
            question.id: answers_by_id[question.id]
            for question in questions
            if question.id in answers_by_id
        }
    if answers_by_id and not answers:
        raise UsageError("This question is no longer open; reload the page.")
    if len(args.answer) > len(questions):
        raise UsageError(
            f"The thread {thread_id} has only {len(questions)} open questions; "
            f"`manus show {thread_id}` lists the questions."
        )
    return Command(resume=answers) if answers else None


async def run_job(
    job: Job,
    modes: list[str],
    show: Show,
    continue_job: Continue | None = None,
    start_next: StartNext | None = None,
    control: RunControl | None = None,
) -> Outcome:
    """Stream a run to its end, continuing with the job from `continue_job` each time it pauses.

    Then the messages that wait in the inbox of the thread are executed, one run each. `start_next`
    is called before each of them. Return the outcome of the last run.

    With `control` the run can be stopped between two steps; it then raises `GraphDrained`.

    The caller handles cancellation; the text that was streamed until then is kept in the thread.
    The resources of a paused run are always closed, since this process will not resume it.
    """
    outcome = job.pending
    context = job.context
    streamed = StreamedText()
    try:
        while True:
            if outcome is None:
                await _stream(job, modes, show, streamed, control)
                job = replace(job, checkpoint_id=None)
                outcome = build_outcome(await job.graph.aget_state(job.config()))
            paused_at = _now()
            next_job = (
                await continue_job(job, outcome)
                if continue_job and not job.is_report_only
                else None
            )
            if next_job is None:
                next_job = await create_next_job(replace(job, context=context), outcome.stop_reason)
                if next_job is None:
                    return outcome
                if start_next is not None:
                    start_next(next_job, outcome)
            job = replace(next_job, started=_now(), paused_at=paused_at)
            outcome = None
    except asyncio.CancelledError:
        if streamed.text.strip():
            await keep_stopped_reply(job.graph, job.config(), streamed.text)
        raise
    finally:
        await job.graph.close_waiting()


async def _stream(
    job: Job,
    modes: list[str],
    show: Show,
    streamed: StreamedText,
    control: RunControl | None,
) -> None:
    """Pass the parts of a run's stream to `show`; the text of an agent also to `streamed`."""
    # steps of a flow are subgraphs: stream their events too
    options: Any = {"stream_mode": modes, "subgraphs": True, "durability": "sync"}
    options["control"] = control
    stream = job.graph.astream(job.graph_input, job.config(), context=job.context, **options)
    async with aclosing(stream) as parts:
        async for namespace, mode, data in parts:
            if job.kind == "agent" and not namespace:
                streamed.read(mode, data)
            await show(mode, data)


async def read_outcome(store: Store, thread: Thread) -> Outcome:
    """Return the outcome of the newest run of a thread."""
    # Reading works with any profile; a custom one may not be loaded here.
    graph = build_graph(thread.kind, "manus", store)
    return build_outcome(await graph.aget_state(thread_config(thread.thread_id)))


async def _prepare_workspace(settings: Settings, context: Context) -> Context:
    """Create the workspace and return the context with its absolute path."""
    path = await asyncio.to_thread(check_workspace, settings, context)
    return context.model_copy(update={"workspace": str(path)})
