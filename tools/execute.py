"""The one place that executes a tool call. Whatever happens, there is a tool message."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp

from manus.state.agent import ToolTask
from manus.state.sanitize import sanitize
from manus.tools.base import AgentTool
from manus.tools.call import observe_call
from manus.tools.catalog import Catalog
from manus.tools.locks import EVERYTHING, Resource
from manus.tools.result import Observation
from manus.tools.session import Session
from manus.tools.truncation import HEAD, HEAD_OF_FAILURE, truncate

UNKNOWN_EFFECT = (
    "This call had begun when the process stopped, so it may have taken effect, in part or whole; "
    "it was not executed again. Look at what is there before you decide to repeat it."
)
NOTHING = "(nothing came back)"

# What asking a tool about arguments that do not fit its schema may raise.
_UNFIT = (TypeError, ValueError, LookupError, AttributeError)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool message, and what the call changes in the state beside it."""

    message: ToolMessage
    update: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None
    """What loops are found by in place of the message's text."""
    executed: bool = True


async def execute(
    task: ToolTask,
    *,
    session: Session,
    catalog: Catalog,
    key: str,
    max_observe: int,
    config: RunnableConfig | None = None,
) -> ToolResult:
    """Carry out one call under its locks, journalled under `key`.

    Raises:
        GraphBubbleUp: the tool interrupts the graph, to ask a person.
        asyncio.CancelledError: the run itself is being cancelled.
        StorageError: the journal cannot be written.
    """
    tool = catalog.find(task["name"])
    if refusal := task.get("refusal"):
        refused = Observation(refusal, is_error=True, executed=False)
        return await _said(task, refused, session, max_observe)
    if tool is None:
        said = catalog.unknown(task["name"])
        unknown = Observation(said, is_error=True, executed=False)
        return await _said(task, unknown, session, max_observe)
    async with session.locks.hold(_resources(tool, task["args"])):
        return await _journalled(tool, task, session, key, max_observe, config)


async def _journalled(
    tool: BaseTool,
    task: ToolTask,
    session: Session,
    key: str,
    max_observe: int,
    config: RunnableConfig | None,
) -> ToolResult:
    if _read_only(tool, task["args"]):
        return await _carried_out(tool, task, session, max_observe, config)
    entry = session.journal.look_up(key)
    if entry is not None and entry.message is not None:
        return ToolResult(ToolMessage(**entry.message), entry.update or {})
    if entry is not None:
        return _outcome(task, Observation(UNKNOWN_EFFECT, is_error=True))
    if session.journal.is_lost():
        await asyncio.to_thread(session.journal.restore)
    session.journal.begin(key, tool.name)
    try:
        outcome = await _carried_out(tool, task, session, max_observe, config)
    except GraphBubbleUp:
        session.journal.release(key)  # it asks first and will act after the answer
        raise
    said = outcome.message.model_dump(exclude={"artifact"}, exclude_unset=True)
    session.journal.finish(key, said, outcome.update)
    return outcome


async def _carried_out(
    tool: BaseTool,
    task: ToolTask,
    session: Session,
    max_observe: int,
    config: RunnableConfig | None,
) -> ToolResult:
    args = {**task["args"], **task.get("injected", {})}
    observation = await observe_call(tool, args, call_id=task["id"], config=config)
    return await _said(task, observation, session, max_observe)


async def _said(
    task: ToolTask, observation: Observation, session: Session, max_observe: int
) -> ToolResult:
    """The tool message of an observation, cut where it is too long."""
    if len(observation.text) > max_observe:
        head = HEAD_OF_FAILURE if observation.is_error else HEAD
        text = sanitize(observation.text)
        text = await asyncio.to_thread(truncate, text, max_observe, session.workspace, head=head)
        observation = replace(observation, text=text)
    return _outcome(task, observation)


def _resources(tool: BaseTool, args: dict[str, Any]) -> frozenset[Resource]:
    if not isinstance(tool, AgentTool):
        return frozenset({Resource(EVERYTHING)})
    try:
        return tool.resources(args)
    except _UNFIT:  # arguments not validated yet: what they touch cannot be told
        return frozenset({Resource(EVERYTHING)})


def _read_only(tool: BaseTool, args: dict[str, Any]) -> bool:
    if not isinstance(tool, AgentTool):
        return False
    try:
        return tool.read_only(args)
    except _UNFIT:  # as above: when in doubt it has an effect
        return False


def _outcome(task: ToolTask, observation: Observation) -> ToolResult:
    text = sanitize(observation.text)
    if not (text or observation.images):
        text = NOTHING  # some providers refuse a message without content
    observation = replace(observation, text=text)
    message = ToolMessage(
        content=observation.content(),
        tool_call_id=task["id"],
        name=task["name"],
        status="error" if observation.is_error else "success",
    )
    return ToolResult(message, observation.update, observation.fingerprint, observation.executed)
