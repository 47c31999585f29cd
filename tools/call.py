"""The one path of a tool call: locks, journal, the tool itself, and one message in the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolInvocationError
from pydantic import BaseModel, ValidationError

from manus.state.agent import ToolTask
from manus.state.errors import ManusError, ToolError
from manus.state.sanitize import sanitize
from manus.tools.arguments import explain_arguments, tidy
from manus.tools.base import AgentTool
from manus.tools.foreign import call_foreign, exit_error
from manus.tools.locks import EVERYTHING, Resource
from manus.tools.result import Observation, ToolResult
from manus.tools.session import Session
from manus.tools.truncation import HEAD, HEAD_OF_FAILURE, truncate

if TYPE_CHECKING:
    from manus.tools.catalog import Catalog

log = logging.getLogger("manus")

UNKNOWN_EFFECT = (
    "This call had begun when the process stopped, so it may have taken effect, in part or whole; "
    "it was not executed again. Look at what is there before you decide to repeat it."
)
NOTHING = "(nothing came back)"
JOURNALLED = "journalled"
"""Marks the message of a call that the journal knows: state and journal vouch for each other."""
_FOREIGN_TIME_LIMIT = 300.0
"""Seconds for a tool that is not one of ours."""

# What asking a tool about arguments that do not fit its schema may raise.
_UNFIT = (TypeError, ValueError, LookupError, AttributeError)


async def call_tool(
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
    if tool is None or "refusal" in task:
        said = task.get("refusal") or catalog.unknown(task["name"])
        refused = Observation(said, is_error=True, executed=False)
        return await _to_result(task, refused, session, max_observe)
    task = {**task, "args": tidy(tool.args_schema, task["args"])}
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
    """The result that is recorded already, or that of the call, recorded around its effect."""
    journal = session.journal
    if _read_only(tool, task["args"]):
        return await _carried_out(tool, task, session, max_observe, config)
    entry = journal.look_up(key)
    if entry is not None and entry.message is not None:
        return ToolResult(ToolMessage(**entry.message), entry.update or {})
    if entry is None:
        if journal.is_lost():
            await asyncio.to_thread(journal.restore)
        journal.begin(key, tool.name)
        try:
            result = await _carried_out(tool, task, session, max_observe, config)
        except GraphBubbleUp:
            journal.release(key)  # it asks first and will act after the answer
            raise
    else:
        unknown = Observation(UNKNOWN_EFFECT, is_error=True)
        result = await _to_result(task, unknown, session, max_observe)
    result.message.additional_kwargs = {JOURNALLED: True}
    said = result.message.model_dump(exclude={"artifact"}, exclude_unset=True)
    journal.finish(key, said, result.update)
    return result


async def _carried_out(
    tool: BaseTool,
    task: ToolTask,
    session: Session,
    max_observe: int,
    config: RunnableConfig | None,
) -> ToolResult:
    args = {**task["args"], **task.get("injected", {})}
    observation = await observe_call(tool, args, call_id=task["id"], config=config)
    return await _to_result(task, observation, session, max_observe)


async def _to_result(
    task: ToolTask, observation: Observation, session: Session, max_observe: int
) -> ToolResult:
    """The tool message of an observation, truncated where it is too long."""
    text = sanitize(observation.text)
    if len(text) > max_observe:
        head = HEAD_OF_FAILURE if observation.is_error else HEAD
        text = await asyncio.to_thread(truncate, text, max_observe, session.workspace, head=head)
    if not (text or observation.images):
        text = NOTHING  # some providers refuse a message without content
    message = ToolMessage(
        content=replace(observation, text=text).content(),
        tool_call_id=task["id"],
        name=task["name"],
        status="error" if observation.is_error else "success",
    )
    return ToolResult(message, observation.update, observation.fingerprint, observation.executed)


def _resources(tool: BaseTool, args: dict[str, Any]) -> frozenset[Resource]:
    if not isinstance(tool, AgentTool):
        return frozenset({Resource(EVERYTHING)})
    try:
        return tool.resources(args)
    except _UNFIT:  # arguments not validated yet: what they use cannot be told
        return frozenset({Resource(EVERYTHING)})


def _read_only(tool: BaseTool, args: dict[str, Any]) -> bool:
    if not isinstance(tool, AgentTool):
        return False
    try:
        return tool.read_only(args)
    except _UNFIT:  # as above: when in doubt it has an effect
        return False


async def observe_call(
    tool: BaseTool,
    args: Mapping[str, Any],
    *,
    call_id: str = "call",
    config: RunnableConfig | None = None,
) -> Observation:
    """Call a tool and make an observation of whatever comes of it; no lock, no journal.

    Raises:
        GraphBubbleUp: the tool interrupts the graph, to ask a person.
        asyncio.CancelledError: the run itself is being cancelled.
    """
    limit = tool.time_limit if isinstance(tool, AgentTool) else _FOREIGN_TIME_LIMIT
    try:
        async with asyncio.timeout(limit) as clock:
            if isinstance(tool, AgentTool):
                return await tool.answer(args, call_id, config)
            return await call_foreign(tool, args, call_id, config)
    except (GraphBubbleUp, KeyboardInterrupt, GeneratorExit):
        raise
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
        return _failed(f"`{tool.name}` was cancelled before it was done.")
    except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model is told
        if isinstance(error, TimeoutError) and clock.expired():
            return _failed(f"`{tool.name}` did not end within {limit:g} s and was cancelled.")
        return _failed(_said(tool, error))
    except BaseException as error:  # noqa: BLE001 - `sys.exit()` in a tool does not end the run
        return _failed(str(exit_error(error)))


def _failed(text: str) -> Observation:
    return Observation(text, is_error=True)


def _said(tool: BaseTool, error: Exception) -> str:
    if isinstance(error, ToolInvocationError):
        error = error.source
    if isinstance(error, ValidationError) and _is_about_arguments(tool, error):
        return explain_arguments(tool, error)
    text, kind = _text(error), type(error).__name__
    if isinstance(error, ToolError | ToolException) and text:
        return text
    if not isinstance(error, ManusError):
        # the model reads what happened and goes on; the log keeps the traceback for a person
        log.info("tool %s raised", tool.name, exc_info=error)
    return f"`{tool.name}` failed: {kind}: {text}" if text else f"`{tool.name}` failed: {kind}."


def _is_about_arguments(tool: BaseTool, error: ValidationError) -> bool:
    """Whether the arguments did not fit, rather than something the tool read on its way."""
    schema = tool.args_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return False
    return error.title in (schema.__name__, schema.model_config.get("title"))


def _text(error: Exception) -> str:
    try:
        return str(error).strip()
    except Exception:  # noqa: BLE001 - an error that cannot even be shown must not end the run
        return ""
