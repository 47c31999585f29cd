"""The path of every tool call: locks, approval, journal, the tool itself, one tool message."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from manus.config.secret_texts import mask
from manus.execution.approval import Call, Verdict, judge
from manus.execution.base import (
    AgentTool,
    Arguments,
)
from manus.execution.changed_files import now
from manus.execution.downloads import note_downloads
from manus.execution.egress_guard import Access
from manus.execution.git_guard import GIT
from manus.execution.invoke import failure, observe_call, refusal
from manus.execution.journal import UNKNOWN_EFFECT, JournalEntry
from manus.execution.packing import pack, unpack
from manus.execution.result import Observation, ToolResult
from manus.execution.session import EVERYTHING, Resource, Session
from manus.execution.siblings import Needs
from manus.execution.truncation import HEAD, HEAD_OF_OUTPUT, max_tokens_for, truncate
from manus.execution.wrapped_call import ToolCallWrapper, WrappedCall
from manus.prompts import approval as prompts
from manus.prompts.agent import ruled_out
from manus.prompts.sources import COMMAND
from manus.state.agent import Refusal, ToolTask
from manus.state.messages import FAILED, OWN_TEXT, SOURCE
from manus.state.taint import TAINTED
from manus.state.text import one_line, sanitize

if TYPE_CHECKING:
    from manus.execution.catalog import Catalog

log = logging.getLogger("manus")

NO_GRAPH_AROUND = (
    "This tool hands over to another node of the graph around this agent, but the agent is not a "
    "node of any graph. Go on without it."
)
NOTHING = "(nothing came back)"
JOURNALLED = "journalled"
"""Marks the message of a journalled call, so that state and journal can be compared."""
_MAX_QUESTION = 300
"""Maximum size of a question in the list of refusals."""
_MAX_FILES = 20
"""Maximum number of files named after an interrupted call."""
_MAX_ARGUMENTS = 100
"""Maximum size of the arguments in the description of a call."""


class CallWatcher(Protocol):
    """Observes what a call changes in the workspace while other agents work there."""

    async def watch(
        self, call: Call, carry_out: Callable[[], Awaitable[Observation]]
    ) -> Observation:
        """Execute the call and return its observation, with notes appended."""


call_watcher: ContextVar[CallWatcher | None] = ContextVar("call_watcher", default=None)
"""Set by the code that runs agents concurrently."""


async def call_tool(
    task: ToolTask,
    *,
    session: Session,
    catalog: Catalog,
    key: str,
    config: RunnableConfig | None = None,
    start: Callable[[], None] | None = None,
    wrapper: ToolCallWrapper | None = None,
) -> ToolResult:
    """Execute one call under its locks, journalled under `key`: a claim before, a result after.

    The call is idempotent: a journalled result is replayed, and a call with only a claim is not
    repeated. It waits for earlier calls of its message that use the same resources, and is not
    executed if one of those has failed. `start` is called when its turn has come. A `wrapper` may
    execute it several times, or not at all.

    Raises:
        GraphBubbleUp: the call interrupts for approval, or its tool interrupts.
        asyncio.CancelledError: the run itself is being cancelled.
        StorageError: the journal cannot be written.
    """
    tool = catalog.find(task["name"])
    needs = find_needs(tool, task["args"])
    sibling = session.siblings.start(task, describe_call(task["name"], task["args"]), needs)
    cause = ""
    try:
        # a refused call has its own reason; a journalled one started before
        if "refusal" not in task and session.journal.look_up(key) is None:
            cause = await session.siblings.wait_for_turn(task, needs)
        if start is not None:
            start()
        if cause:
            result = await _to_result(task, refusal(ruled_out(cause)), session)
        elif wrapper is not None and config is not None and "refusal" not in task:
            call = WrappedCall(task, session, catalog, key, config, _execute_or_refuse, _to_result)
            result = await call.run(wrapper, tool)
        else:
            result = await _execute_or_refuse(task, tool, session, catalog, key, config)
    except BaseException:
        sibling.state = "waiting"
        raise
    else:
        # a stable id: the message of a repeated call replaces the first one
        result.message.id = key
        sibling.cause = cause
        sibling.message = result.message
        sibling.handoff = result.observation.handoff
        sibling.state = "failed" if FAILED in result.message.additional_kwargs else "done"
        return result
    finally:
        sibling.finished.set()


async def _execute_or_refuse(
    task: ToolTask,
    tool: BaseTool | None,
    session: Session,
    catalog: Catalog,
    key: str,
    config: RunnableConfig | None,
) -> ToolResult:
    """Return the result of a call whose turn has come."""
    if tool is None or "refusal" in task:
        reason = task.get("refusal") or catalog.explain_unknown(task["name"])
        return await _to_result(task, refusal(reason), session)
    free = config is None or session.settings.approve.mode == "yolo"
    asks = session.settings.approve.mode != "refuse"
    await session.egress_guard.begin(task, session.settings, is_free=free, asks=asks)
    approve = session.settings.approve
    session.git_guard.begin(
        [*approve.allow, *task.get("approved", ()), *session.approved],
        approve.deny,
        words=session.egress_guard.words,
        is_free=free,
        asks=asks,
    )
    schema = tool.args_schema
    arguments = task["args"]
    verdict = None
    while True:
        args = schema.tidy(arguments) if is_tidied(schema) else arguments
        needs = find_needs(tool, args)
        call = Call(tool, args, needs.resources, needs.read_only, task, key, session, config)
        async with session.locks.hold(call.resources):
            entry = None if call.read_only else session.journal.look_up(key)
            if entry is not None:
                return await _replay(call, entry)
            verdict = verdict or await judge(call)
            if verdict.args is None:
                return await _execute_recorded(call, verdict)
        # the edited arguments may use other resources
        arguments = verdict.args
        verdict = replace(verdict, args=None)


async def _replay(call: Call, entry: JournalEntry) -> ToolResult:
    """Return the journalled result of a call; of the state update only channels its tool declares.

    The tool may have been another one when the journal was written.
    """
    if entry.message is None:
        text = UNKNOWN_EFFECT + await _describe_changes_in_doubt(call)
        return await _to_result(call.task, failure(text), call.session, call.key)
    observation = Observation("", update=entry.update or {})
    if entry.packed is not None:
        observation = unpack(entry.packed, observation)
    if isinstance(call.tool, AgentTool):
        declared = {k: v for k, v in observation.update.items() if k in call.tool.channels}
        observation = replace(observation, update=declared)
    message = ToolMessage(**{**entry.message, "artifact": observation.artifact})
    if FAILED in message.additional_kwargs:
        # a middleware may try again, as it did after the failure itself
        observation = replace(observation, error=ToolException(message.text))
    return ToolResult(message, observation)


async def _describe_changes_in_doubt(call: Call) -> str:
    """Return a sentence about the files that changed since an interrupted call started."""
    files = call.session.files
    if files is None:
        return ""
    changed = await files.find_changes_in_doubt()
    if not changed:
        return ""
    hidden = len(changed) - _MAX_FILES
    names = ", ".join(changed[:_MAX_FILES]) + (f" and {hidden} more" if hidden > 0 else "")
    return f" Files that have changed since it started: {names}."


async def _execute_recorded(call: Call, verdict: Verdict) -> ToolResult:
    """Execute a call, and record the workspace's files around it if it may change them."""
    files = call.session.files
    if files is None or call.read_only or verdict.refusal:
        return await _execute(call, verdict)
    changed = [resource.name for resource in call.resources if resource.write]
    async with files.around_call(call.tool.name, changed):
        return await _execute(call, verdict)


async def _execute(call: Call, verdict: Verdict) -> ToolResult:
    """Execute a call if the verdict allows it, and return its result."""
    task = call.task
    session = call.session
    if verdict.refusal:
        result_of_refusal = await _to_result(task, refusal(verdict.refusal), session)
        return replace(result_of_refusal, refused=(verdict.refused,) if verdict.refused else ())
    args = {**call.args, **task.get("injected", {})}
    if not call.read_only:
        await session.journal.abegin(call.key, call.tool.name)
    started_at = now()
    try:
        with (
            session.egress_guard.admitting(verdict.accesses, verdict.digest) as running_call,
            session.git_guard.admitting(
                verdict.digest, is_approved=verdict.may_change_git
            ) as git_call,
        ):
            observation = await _observe_watched(call, args)
    except GraphBubbleUp as error:
        if not call.read_only:
            await session.journal.arelease(
                call.key
            )  # it interrupts before its effect, and runs again after the answer
        if session.settings.approve.mode != "refuse" or not isinstance(error, GraphInterrupt):
            raise
        entry = Refusal(call=call.tool.name, reason=_join_questions(error), by="mode", rules=[])
        result_of_refusal = await _to_result(task, refusal(prompts.NOBODY_TO_ASK), session)
        return replace(result_of_refusal, refused=(entry,))
    has_fetched = running_call.has_fetched
    await note_downloads(session, args, observation.source, started_at, has_fetched=has_fetched)
    if observation.handoff is not None and not session.is_in_other_graph:
        observation = replace(failure(NO_GRAPH_AROUND), artifact=observation.artifact)
    observation = replace(observation, text=verdict.note + observation.text)
    key = None if call.read_only else call.key
    result = await _to_result(task, observation, session, key)
    refusals: tuple[Refusal, ...] = ()
    if session.settings.approve.mode == "refuse":
        refusals = _blocked_connections(call, running_call.blocked)
        if git_call.is_blocked:
            refusals += (_git_refusal(call),)
    return replace(result, approved=verdict.rules, refused=refusals)


async def _observe_watched(call: Call, args: Mapping[str, Any]) -> Observation:
    """Execute a call; the watcher of this run may append notes to its observation."""
    watcher = call_watcher.get()
    carry_out = partial(observe_call, call.tool, args, call.task["id"], call.config)
    return await (carry_out() if watcher is None else watcher.watch(call, carry_out))


def _join_questions(error: GraphInterrupt) -> str:
    """Return the questions of a tool's interrupt as one text."""
    questions = []
    for question in error.args[0] if error.args else ():
        value = question.value
        text = value.get("question") if isinstance(value, Mapping) else value
        questions.append(one_line(str(text), _MAX_QUESTION))
    return " ".join(questions)


def _git_refusal(call: Call) -> Refusal:
    """Return the refusal of a program's change of a repository."""
    about = one_line(describe_call(call.tool.name, call.args), _MAX_QUESTION)
    return Refusal(call=about, reason=prompts.CHANGES_GIT, by="mode", rules=[GIT])


def _blocked_connections(call: Call, accesses: Sequence[Access]) -> tuple[Refusal, ...]:
    """Return the refusals of a program's connections, which nobody will be asked about."""
    why = call.session.egress_guard.why_tainted
    refusals = []
    for access in dict.fromkeys(accesses):
        connection = f"{call.tool.name}: a connection to {access.host}"
        reason = prompts.sends([access.host], why)
        refusals.append(Refusal(call=connection, reason=reason, by="mode", rules=[access.rule]))
    return tuple(refusals)


def find_needs(tool: BaseTool | None, args: dict[str, Any]) -> Needs:
    """Return the resources that a call uses; a foreign tool may use all of them.

    A call of a foreign tool runs alone, but other calls of its message do not depend on it, since
    its resources are unknown.
    """
    if tool is None:
        return Needs(frozenset())
    if not isinstance(tool, AgentTool):
        return Needs(frozenset({Resource(EVERYTHING)}))
    args = tool.args_schema.tidy(args) if is_tidied(tool.args_schema) else args
    try:
        return Needs(tool.resources(args), tool.read_only(args), tool.relies_on(args))
    except (TypeError, ValueError, LookupError, AttributeError):
        # invalid arguments, which the call itself reports
        used = frozenset() if tool.uses == EVERYTHING else frozenset({Resource(tool.uses)})
        return Needs(frozenset({Resource(EVERYTHING)}), relies_on=used)


def is_tidied(schema: Any) -> TypeGuard[type[Arguments]]:
    """Return whether a schema normalizes the names of arguments."""
    return isinstance(schema, type) and issubclass(schema, Arguments)


def describe_call(name: str, args: Mapping[str, Any]) -> str:
    """Describe a call in a few words."""
    rendered = one_line(json.dumps(args, ensure_ascii=False, default=str), _MAX_ARGUMENTS)
    return f"`{name}` with {rendered}"


async def _to_result(
    task: ToolTask, observation: Observation, session: Session, key: str | None = None
) -> ToolResult:
    """Convert an observation to a tool message, truncated if it is too long.

    With a `key`, the message is recorded in the journal.
    """
    text = sanitize(observation.text)
    if session.settings.secrets:
        text = mask(text, session.settings.secrets)
    if len(text) > (limit := session.settings.max_observe):
        head = HEAD_OF_OUTPUT if observation.is_error or observation.source == COMMAND else HEAD
        text = await asyncio.to_thread(
            truncate,
            text,
            limit,
            session.workspace,
            head=head,
            source=observation.source,
            max_tokens=max_tokens_for(observation.source),
        )
    if not (text or observation.images):
        text = NOTHING  # some providers reject a message without content
    message = ToolMessage(
        content=replace(observation, text=text).content() if observation.images else text,
        tool_call_id=task["id"],
        name=task["name"],
        status="error" if observation.is_error else "success",
        additional_kwargs=_describe_origin(observation, text, session),
        artifact=observation.artifact,
    )
    if observation.failed:
        message.additional_kwargs[FAILED] = True
    if key is not None:
        message.additional_kwargs[JOURNALLED] = True
        content = message.model_dump(exclude={"artifact"}, exclude_unset=True)
        await session.journal.afinish(key, content, observation.update, pack(observation))
    return ToolResult(message, observation)


def _describe_origin(observation: Observation, text: str, session: Session) -> dict[str, Any]:
    """Return the source of a text, what of it the tool itself says, and whether it taints."""
    origin: dict[str, Any] = {SOURCE: observation.source} if observation.source else {}
    own_text = mask(sanitize(observation.own_text), session.settings.secrets)
    if own_text and text.startswith(own_text):  # else truncation has cut it
        origin[OWN_TEXT] = own_text
    if session.egress_guard.is_tainted and observation.executed:
        origin[TAINTED] = True
    return origin
