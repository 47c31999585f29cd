"""The path of each tool call: locks, approval, journal, the tool itself, one tool message."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp

from manus.calls.approval import Call, Verdict, judge
from manus.calls.base import AgentTool, classify_call, find_needs
from manus.calls.blocked_calls import (
    BLOCKED,
    Blocked,
    ask_about_blocked,
    list_refusals,
    refuse_interrupt,
)
from manus.calls.changed_files import FILE_CLOCK, note_writes
from manus.calls.egress_guard import RunningCall
from manus.calls.hooks import has_hooks, observe_with_hooks
from manus.calls.invoke import failure, observe_call, refusal
from manus.calls.result import Observation, ToolResult, pack, rate_effect, unpack
from manus.calls.session import Session
from manus.calls.siblings import describe_call
from manus.calls.truncation import HEAD, HEAD_OF_OUTPUT, max_tokens_for, truncate
from manus.calls.wrapped_call import ToolCallWrapper, WrappedCall
from manus.config.safety_settings import mask
from manus.prompts import approval as prompts
from manus.prompts.agent import ruled_out, success_denied
from manus.prompts.sources import COMMAND
from manus.state.agent import Refusal, ToolTask
from manus.state.messages import FAILED, OWN_TEXT, SOURCE
from manus.state.text import sanitize
from manus.threads.journal import UNKNOWN_EFFECT, Claim, JournalEntry
from manus.threads.outside_effects import OUTSIDE_EFFECT, UNCERTAIN

if TYPE_CHECKING:
    from manus.calls.catalog import Catalog
    from manus.threads.snapshots.thread_files import ThreadFiles

log = logging.getLogger("manus")

NO_GRAPH_AROUND = (
    "This tool hands over to another node of the graph around this agent, but the agent is not a "
    "node of a graph. Continue without it."
)
NOTHING = "(no output)"
JOURNALLED = "journalled"
"""Marks the message of a journaled call, so that state and journal can be compared."""


class CallWatcher(Protocol):
    """An observer of what a call changes in the workspace while other agents work there."""

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
    """Execute one call under its locks, journaled under `key`: a claim before, a result after.

    The call is idempotent: a journaled result is replayed, and a call with only a claim is not
    repeated. It waits for earlier calls in its message that use the same resources, and is not
    executed if one of those has failed. `start` is called when its turn comes. A `wrapper` may
    execute it several times, or not at all.

    Raises:
        GraphBubbleUp: the call interrupts for approval, or its tool interrupts.
        asyncio.CancelledError: the run itself is being cancelled.
        StorageError: the journal cannot be written.
    """
    tool = catalog.find(task["name"])
    execute = partial(_execute_or_refuse, task, tool, session, catalog, key, config)
    if wrapper is not None and config is not None and "refusal" not in task:
        wrapped = WrappedCall(task, session, catalog, key, config, _execute_or_refuse, _to_result)
        execute = partial(wrapped.run, wrapper, tool)
    if "calls" in task:
        return await _execute_in_turn(task, tool, session, key, execute, start)
    if start is not None:
        start()
    return await execute()


async def _execute_in_turn(
    task: ToolTask,
    tool: BaseTool | None,
    session: Session,
    key: str,
    execute: Callable[[], Awaitable[ToolResult]],
    start: Callable[[], None] | None,
) -> ToolResult:
    """Return the result of one of several calls of a message."""
    needs = find_needs(tool, task["args"])
    sibling = session.siblings.start(task, describe_call(task["name"], task["args"]), needs)
    cause = ""
    error = ""
    try:
        # a refused call has its own reason; a journaled one started earlier
        if "refusal" not in task and session.journal.look_up(key) is None:
            cause = await session.siblings.wait_for_turn(task, needs)
            if _claims_success(tool, task["args"]):
                error = await session.siblings.wait_for_error(task)
        if start is not None:
            start()
        if cause:
            result = await _to_result(task, refusal(ruled_out(cause)), session, key)
        elif error:
            result = await _to_result(task, refusal(success_denied(error)), session, key)
        else:
            result = await execute()
    except BaseException:
        sibling.state = "waiting"
        raise
    else:
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
        return await _to_result(task, refusal(reason), session, key)
    _inform_guards(task, session, config)
    arguments = task["args"]
    verdict = None
    while True:
        call = Call(tool, *classify_call(tool, arguments), task, key, session, config)
        lock = session.locks.hold(call.resources) if call.resources else nullcontext()
        async with lock:
            entry = None if call.read_only else session.journal.look_up(key)
            if entry is not None:
                return await ask_about_blocked(call, await _replay(call, entry))
            verdict = verdict or await judge(call)
            if verdict.refusal:
                result = await _to_result(task, refusal(verdict.refusal), session, key)
                refused = (verdict.refused,) if verdict.refused else ()
                return replace(result, refused=refused, approved=verdict.rules)
            if verdict.args is None:
                may_change_files = bool(call.resources) and not call.read_only
                if session.files is not None and may_change_files:
                    result = await _execute_recorded(call, verdict, session.files)
                else:
                    result = await _execute(call, verdict)
                return await ask_about_blocked(call, result)
        # the edited arguments may use other resources
        arguments = verdict.args
        verdict = replace(verdict, args=None)


def _inform_guards(task: ToolTask, session: Session, config: RunnableConfig | None) -> None:
    """Inform the guards about a call, unless the facts are the same as for the previous call."""
    guard = session.egress_guard
    # other calls of the message may have brought answers since the task was created
    approved = [*task.get("approved", ()), *session.approved]
    refused = [*task.get("refused", ())]
    for entry in session.refused:
        refused += entry["rules"]
    task = {**task, "approved": approved, "refused": refused}
    facts: list[Any] = [session.settings, config is None, guard.fetched_from]
    facts += [task.get(name) for name in ("outside", "private", "named", "approved", "refused")]
    if facts == session.guarded_facts:
        return
    approve = session.settings.approve
    is_free = config is None or approve.mode == "yolo"
    asks = approve.mode != "refuse"
    guard.begin(task, session.settings, is_free=is_free, asks=asks)
    session.guarded_facts = facts


async def _replay(call: Call, entry: JournalEntry) -> ToolResult:
    """Return the journaled result of a call, with state updates only for declared channels.

    The tool may have been a different one when the journal was written.
    """
    if entry.message is None:
        text = UNKNOWN_EFFECT
        if call.session.files is not None:
            text += await call.session.files.describe_changes_in_doubt(entry.claim.snapshot)
        effect = UNCERTAIN if entry.claim.acts_outside else False
        return await _to_result(
            call.task, failure(text), call.session, call.key, is_journaled=True, effect=effect
        )
    observation = Observation("", update=entry.update or {})
    if entry.packed is not None:
        observation = unpack(entry.packed, observation)
    if isinstance(call.tool, AgentTool):
        declared = {k: v for k, v in observation.update.items() if k in call.tool.channels}
        observation = replace(observation, update=declared)
    message = ToolMessage(**{**entry.message, "id": call.key, "artifact": observation.artifact})
    if FAILED in message.additional_kwargs:
        # a middleware may retry, as it did after the failure itself
        observation = replace(observation, error=ToolException(message.text))
    return ToolResult(message, observation)


async def _execute_recorded(call: Call, verdict: Verdict, files: ThreadFiles) -> ToolResult:
    """Execute a call, and record the workspace's files before and after it."""
    changed = [resource.name for resource in call.resources if resource.write]
    is_logged = isinstance(call.tool, AgentTool) and call.tool.logs_writes
    async with files.around_call(call.tool.name, changed, is_logged=is_logged):
        return await _execute(call, verdict)


async def _execute(call: Call, verdict: Verdict) -> ToolResult:
    """Execute a call that the verdict allows, and return its result."""
    task = call.task
    session = call.session
    args = {**call.args, **task.get("injected", {})}
    if not call.read_only:
        head = session.files.head if session.files is not None else ""
        claim = Claim(
            call.tool.name, snapshot=head, acts_outside=call.acts_outside, call_id=task["id"]
        )
        await session.journal.abegin(call.key, claim)
    started_at = time.clock_gettime_ns(FILE_CLOCK)
    running_call = RunningCall(frozenset(verdict.hosts))
    session.running_calls.append(running_call)
    try:
        watcher = call_watcher.get()
        carry_out = partial(observe_call, call.tool, args, task["id"], call.config)
        if has_hooks(session):
            carry_out = partial(observe_with_hooks, call, carry_out)
        observation = await (carry_out() if watcher is None else watcher.watch(call, carry_out))
    except GraphBubbleUp as error:
        entry = await refuse_interrupt(call, error)
        result = await _to_result(task, refusal(prompts.NOBODY_TO_ASK), session, call.key)
        return replace(result, refused=(entry,))
    finally:
        session.running_calls.remove(running_call)
        session.egress_guard.taint_by_fetch()
    if session.downloads or not call.read_only:
        has_fetched = running_call.has_fetched
        await note_writes(session, args, observation.source, started_at, has_fetched=has_fetched)
    if observation.handoff is not None and not session.is_in_other_graph:
        observation = replace(failure(NO_GRAPH_AROUND), artifact=observation.artifact)
    if session.files is not None and (note := session.files.describe_unrecorded()):
        observation = replace(observation, text=observation.text + note)
    if verdict.note:
        observation = replace(observation, text=verdict.note + observation.text)
    effect = (call.acts_outside or running_call.has_fetched) and rate_effect(observation)
    result = await _to_result(
        task,
        observation,
        session,
        call.key,
        is_journaled=not call.read_only,
        effect=effect,
        blocked=Blocked(running_call.blocked, verdict.questions),
    )
    refusals: tuple[Refusal, ...] = ()
    if session.settings.approve.mode == "refuse":
        refusals = list_refusals(call, running_call)
    return replace(result, approved=verdict.rules, refused=refusals)


def _claims_success(tool: BaseTool | None, args: dict[str, Any]) -> bool:
    claim = tool.success_claim if isinstance(tool, AgentTool) else None
    return claim is not None and args.get(claim[0]) == claim[1]


async def _to_result(
    task: ToolTask,
    observation: Observation,
    session: Session,
    key: str,
    *,
    is_journaled: bool = False,
    effect: bool | str = False,
    blocked: Blocked | None = None,
) -> ToolResult:
    """Convert an observation to a tool message, truncated if it is too long.

    The message has a stable id, the `key`, so that the message of a repeated call replaces the
    first one.
    """
    text = await _render(observation, session)
    message = ToolMessage(
        content=replace(observation, text=text).content() if observation.images else text,
        id=key,
        tool_call_id=task["id"],
        name=task["name"],
        status="error" if observation.is_error else "success",
        additional_kwargs=_gather_facts(observation, text, session, effect, blocked),
        artifact=observation.artifact,
    )
    if is_journaled:
        message.additional_kwargs[JOURNALLED] = True
        content = message.model_dump(exclude={"artifact", "id"}, exclude_unset=True)
        is_message_alone = observation.artifact is None and not (
            observation.update
            or observation.preceding
            or observation.following
            or observation.handoff
        )
        packed = None if is_message_alone else pack(observation)
        await session.journal.afinish(key, content, observation.update, packed)
    return ToolResult(message, observation)


def _gather_facts(
    observation: Observation,
    text: str,
    session: Session,
    effect: bool | str,
    blocked: Blocked | None,
) -> dict[str, Any]:
    """Return what is stored with a tool message besides its text: source, failure, effects."""
    facts: dict[str, Any] = {}
    if observation.source:
        facts[SOURCE] = observation.source
    if observation.own_text:
        own_text = mask(sanitize(observation.own_text), session.settings.secrets)
        if text.startswith(own_text):  # otherwise truncation has cut it
            facts[OWN_TEXT] = own_text
    if observation.executed:
        facts |= session.egress_guard.exposure_from(observation.source).marks()
    if observation.is_error and not observation.is_exit_code:
        facts[FAILED] = True
    if effect:
        facts[OUTSIDE_EFFECT] = effect
    if blocked is not None and blocked.hosts:
        facts[BLOCKED] = blocked._asdict()
    return facts


async def _render(observation: Observation, session: Session) -> str:
    """Return the text of a tool message: without secrets, truncated if it is too long."""
    text = sanitize(observation.text)
    output = sanitize(observation.output)
    if session.settings.secrets:
        text = mask(text, session.settings.secrets)
        output = mask(output, session.settings.secrets)
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
            output=output,
        )
    if not (text or observation.images):
        return NOTHING  # some providers reject a message without content
    return text
