"""Keep any LangChain agent from executing a tool call twice after a crash."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from manus.config.files import state_folder
from manus.execution.journal import UNKNOWN_EFFECT, Claim, Journal, JournalEntry
from manus.execution.packing import is_storable, pack_value, unpack_value
from manus.execution.records.base import Records
from manus.execution.records.files import FileRecords
from manus.execution.records.select import (
    CHECKPOINTER,
    is_database,
    open_database,
    select_records,
)
from manus.execution.records.sqlite import open_records
from manus.state.errors import UsageError

T = TypeVar("T")
Result = ToolMessage | Command[Any]

OLDER_STATE = (
    "This call was not executed. Tool calls that the conversation does not contain were executed "
    "before the process stopped ({calls}), so it may repeat what has taken effect. Check the "
    "current state; repeat the call if it is still needed."
)
_NAMESPACE = "effect_journal"
"""Separates these journals from those of manus's graphs."""
_MAX_OPEN = 64
"""Maximum number of journals that are open at the same time."""


@dataclass(slots=True)
class _ThreadJournal:
    """The journal of a thread, used by one call at a time."""

    journal: Journal
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_checked: bool = False
    """Whether the journal was compared with the stored conversation after it was opened."""
    lost: list[str] = field(default_factory=list)
    """Keys of recorded calls that the conversation does not contain."""


@dataclass(frozen=True, slots=True)
class _JournaledCall:
    """A tool call of a thread with a checkpointer."""

    thread: _ThreadJournal
    scope: str
    """The checkpoint namespace of the agent, since a subagent has its own conversation."""
    key: str
    request: ToolCallRequest


class EffectJournal(AgentMiddleware):
    """Middleware that journals tool calls: a claim before each call, its result after it.

    After the process was killed, a call with a result is answered from the journal. One with only a
    claim is not executed again: its tool message says that it may have taken effect. A tool that
    raises is not journaled: if the run is resumed, it is called again.

    It needs a checkpointer, and works best with `durability="sync"`. Otherwise a crash can lose the
    newest checkpoints with the model's messages: then the same call is answered from the journal,
    and the first different call is not executed, with a message that says why.

    Example:
        agent = create_agent(
            model, tools, middleware=[EffectJournal()], checkpointer=saver
        )
        agent.invoke(request, config, durability="sync")
    """

    def __init__(self, store: Any = None, *, read_only: Collection[str] = ()) -> None:
        """Create the middleware.

        Args:
            store: Location of the journals: the path of the checkpointer's SQLite file, the URL of
                a PostgreSQL database, or a checkpointer. By default they are next to the
                checkpoints if the checkpointer is one of manus or a PostgreSQL saver, otherwise in
                the user's state folder.
            read_only: Names of tools without side effects, whose calls are repeated after a crash.

        Raises:
            UsageError: journals cannot be kept next to this store.
        """
        super().__init__()
        self.tools = []
        self._records = None if store is None else _find_records(store)
        self._read_only = frozenset(read_only)
        self._threads: OrderedDict[str, _ThreadJournal] = OrderedDict()
        self._mutex = threading.Lock()
        weakref.finalize(self, _close_all, self._threads)
        self._executor = ThreadPoolExecutor(4, "manus-effects")

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]
    ) -> Result:
        """Execute a call, or return its journaled result."""
        call = self._identify(request)
        if call is None:
            return handler(request)
        answer = _claim(call)
        if answer is not None:
            return answer
        try:
            result = handler(request)
        except (GraphBubbleUp, Exception):
            _release(call)
            raise
        _finish(call, result)
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """Execute a call, or return its journaled result."""
        call = self._identify(request)
        if call is None:
            return await handler(request)
        answer = await self._run(partial(_claim, call))
        if answer is not None:
            return answer
        try:
            result = await handler(request)
        except (GraphBubbleUp, Exception):
            await self._run(partial(_release, call))
            raise
        await self._run(partial(_finish, call, result))
        return result

    async def _run(self, operation: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, operation)

    def _identify(self, request: ToolCallRequest) -> _JournaledCall | None:
        """Return the call in its thread; None if it is not journaled."""
        info = request.runtime.execution_info
        if info is None or info.thread_id is None or request.tool_call["name"] in self._read_only:
            return None
        configurable = request.runtime.config.get("configurable", {})
        scope = info.checkpoint_ns.rpartition("|")[0].replace("/", "_")
        key = f"{scope}/{info.task_id}/{_digest(request)}/{request.tool_call['id']}"
        thread = self._open_thread(info.thread_id, configurable.get(CHECKPOINTER))
        return _JournaledCall(thread, scope, key, request)

    def _open_thread(self, thread_id: str, saver: Any) -> _ThreadJournal:
        with self._mutex:
            thread = self._threads.get(thread_id)
            if thread is None:
                records = self._records or select_records(saver)
                records = records or FileRecords(state_folder() / "effects")
                thread = _ThreadJournal(Journal(records.log(thread_id, _NAMESPACE)))
                self._threads[thread_id] = thread
            self._threads.move_to_end(thread_id)
            while len(self._threads) > _MAX_OPEN:
                _, oldest = self._threads.popitem(last=False)
                with oldest.lock:
                    oldest.journal.close()  # opened again by a call in progress
            return thread


def _close_all(threads: dict[str, _ThreadJournal]) -> None:
    """Close the journals of a middleware that is no longer used."""
    for thread in threads.values():
        thread.journal.close()


def _find_records(store: Any) -> Records:
    """Return the journals next to a store.

    Raises:
        UsageError: journals cannot be kept next to it.
    """
    if isinstance(store, str) and is_database(store):
        return open_database(store)
    if isinstance(store, str | Path):
        return open_records(Path(store).expanduser().absolute())
    records = select_records(store)
    if records is None:
        raise UsageError(
            f"EffectJournal cannot keep records next to a {type(store).__name__}; give the path of "
            "its SQLite file, or the URL of a PostgreSQL database."
        )
    return records


def _claim(call: _JournaledCall) -> Result | None:
    """Claim a call, or return its answer if it has started before. Blocking.

    Raises:
        StorageError: the claim cannot be written, so the call must not be executed.
    """
    thread = call.thread
    with thread.lock, thread.journal.claiming():
        entry = thread.journal.look_up(call.key)
        if entry is not None:
            return _replay(call, entry)
        if not thread.is_checked:
            thread.is_checked = True
            thread.lost = _find_lost_calls(call)
        answer = _answer_lost(call, thread.lost) if thread.lost else None
        if answer is None:
            thread.journal.begin(call.key, Claim(call.request.tool_call["name"]))
        return answer


def _find_lost_calls(call: _JournaledCall) -> list[str]:
    """Return the keys of the recorded calls after the last one that the conversation answers.

    They are those of the current message, and those of checkpoints lost in a crash. A conversation
    without any recorded call has been shortened on purpose, unless it has just started.
    """
    keys = [key for key in call.thread.journal.entries if key.startswith(f"{call.scope}/")]
    messages = _get_messages(call)
    answered = _answered_calls(messages)
    for position in reversed(range(len(keys))):
        if _call_id(keys[position]) in answered:
            return keys[position + 1 :]
    replies = [message for message in messages if isinstance(message, AIMessage)]
    return keys if len(replies) <= 1 else []


def _answer_lost(call: _JournaledCall, lost: list[str]) -> ToolMessage | None:
    """Answer a call that may be in `lost`, or return None; remove settled calls from `lost`.

    The same call is answered from the journal. For a different one, the model is told once which
    calls are recorded.
    """
    tool_call = call.request.tool_call
    messages = _get_messages(call)
    answered = _answered_calls(messages)
    current = next(m for m in reversed(messages) if isinstance(m, AIMessage))
    siblings = {other["id"] for other in current.tool_calls} - {tool_call["id"]}
    lost[:] = [key for key in lost if _call_id(key) not in answered]
    candidates = [key for key in lost if _call_id(key) not in siblings]
    if not candidates:
        return None
    entries = call.thread.journal.entries
    same = [key for key in candidates if key.split("/", 3)[2] == _digest(call.request)]
    if same:
        same.sort(key=lambda key: _call_id(key) != tool_call["id"])
        lost.remove(same[0])
        answer = _repeat_answer(call, entries[same[0]])
    else:
        names = [str((entries[key].message or {}).get("name", "a call")) for key in candidates]
        lost[:] = [key for key in lost if key not in candidates]
        answer = _refuse(call, OLDER_STATE.format(calls=", ".join(names)))
    content = answer.model_dump(exclude={"artifact"}, exclude_unset=True)
    call.thread.journal.finish_before(call.key, content, lost)
    return answer


def _get_messages(call: _JournaledCall) -> Sequence[BaseMessage]:
    state = call.request.state
    messages: Sequence[BaseMessage]
    messages = state["messages"] if isinstance(state, dict) else state.messages
    return messages


def _answered_calls(messages: Sequence[BaseMessage]) -> set[str]:
    """Return the ids of the calls that have a tool message."""
    return {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}


def _call_id(key: str) -> str:
    return key.split("/", 3)[-1]


def _repeat_answer(call: _JournaledCall, entry: JournalEntry) -> ToolMessage:
    """Return the recorded message of the same call with the id of this one."""
    if entry.message is None:
        return _refuse(call, UNKNOWN_EFFECT)
    content = {**entry.message, "tool_call_id": call.request.tool_call["id"]}
    content.pop("id", None)
    return ToolMessage(**content)


def _digest(request: ToolCallRequest) -> str:
    """Return the digest of a call's tool and arguments."""
    call = [request.tool_call["name"], request.tool_call["args"]]
    text = json.dumps(call, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _replay(call: _JournaledCall, entry: JournalEntry) -> Result:
    """Return the recorded result of a call, or a message that its effect is unknown."""
    if entry.message is None:
        return _refuse(call, UNKNOWN_EFFECT)
    if entry.packed is not None:
        result: Result = unpack_value(entry.packed)
        return result
    return ToolMessage(**entry.message)


def _refuse(call: _JournaledCall, text: str) -> ToolMessage:
    tool_call = call.request.tool_call
    return ToolMessage(text, tool_call_id=tool_call["id"], name=tool_call["name"], status="error")


def _release(call: _JournaledCall) -> None:
    """Release the claim of a call that interrupts or raises. Blocking."""
    with call.thread.lock:
        call.thread.journal.release(call.key)


def _finish(call: _JournaledCall, result: Result) -> None:
    """Record the result of a call. Blocking."""
    tool_call = call.request.tool_call
    content: dict[str, Any] = {"tool_call_id": tool_call["id"], "name": tool_call["name"]}
    packed = None
    is_plain = isinstance(result, ToolMessage) and result.artifact is None
    if isinstance(result, ToolMessage):
        content = result.model_dump(exclude={"artifact"}, exclude_unset=True)
    if not is_plain and is_storable(result):
        packed = pack_value(result)
    with call.thread.lock:
        call.thread.journal.finish(call.key, content, packed=packed)
