"""Keep any LangChain agent from executing a tool call twice after a crash."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from manus.calls.result import is_storable, pack_value, unpack_value
from manus.config.files import state_folder
from manus.middleware.recorded_calls import (
    CallKey,
    RecordedCalls,
    clean,
    digest,
    digest_call,
)
from manus.state.errors import UsageError
from manus.threads.journal import UNKNOWN_EFFECT, Claim, Journal, JournalEntry
from manus.threads.records.base import Records
from manus.threads.records.files import FileRecords
from manus.threads.records.select import (
    CHECKPOINTER,
    is_database,
    open_database,
    select_records,
)
from manus.threads.records.sqlite import SqliteRecords

T = TypeVar("T")
Result = ToolMessage | Command[Any]

OLDER_STATE = (
    "This call was not executed. Tool calls that no stored conversation contains have been "
    "executed ({calls}), so it may repeat what has taken effect. Check the current state; repeat "
    "the call if it is still needed."
)
_NAMESPACE = "effect_journal"
"""Separates these journals from those of manus's graphs."""
_MAX_OPEN = 64
"""Maximum number of journals that are open at the same time."""
_outer_call: ContextVar[tuple[str, str]] = ContextVar("manus_outer_call", default=("", ""))
"""The scope of the agents that the current call runs, and its checkpoint namespace."""


@dataclass(slots=True)
class _ThreadJournal:
    """The journal of a thread, used by one call at a time."""

    journal: Journal
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class _JournaledCall:
    """A tool call of a thread with a checkpointer."""

    thread: _ThreadJournal
    key: CallKey
    former_key: str
    """The key under which version 0.3 recorded the call."""
    request: ToolCallRequest
    recorded: RecordedCalls
    runs_agent: bool
    """Whether an agent with a journal of its own executes the call, so that it can be repeated."""


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

    def __init__(
        self,
        store: Any = None,
        *,
        read_only: Collection[str] = (),
        subagents: Collection[str] = (),
    ) -> None:
        """Create the middleware.

        Args:
            store: Location of the journals: the path of the checkpointer's SQLite file, the URL of
                a PostgreSQL database, or a checkpointer. By default they are next to the
                checkpoints if the checkpointer is one of manus or a PostgreSQL saver, otherwise in
                the user's state folder.
            read_only: Names of tools without side effects, whose calls are repeated after a crash.
            subagents: Names of tools that only run another agent, such as `task` of deepagents.
                Their calls are repeated after a crash, and the calls that the other agent has made
                are answered from the journal. It needs this middleware, too.

        Raises:
            UsageError: journals cannot be kept next to this store.
        """
        super().__init__()
        self.tools = []
        self._records = None if store is None else _find_records(store)
        self._read_only = frozenset(read_only)
        self._subagents = frozenset(subagents)
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
        claim = _claim(call)
        if not isinstance(claim, Claim):
            return claim
        try:
            with _inside(call, claim):
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
        call = self._identify(request, asyncio.get_running_loop())
        if call is None:
            return await handler(request)
        claim = await self._run(partial(_claim, call))
        if not isinstance(claim, Claim):
            return claim
        try:
            with _inside(call, claim):
                result = await handler(request)
        except (GraphBubbleUp, Exception):
            await self._run(partial(_release, call))
            raise
        await self._run(partial(_finish, call, result))
        return result

    async def _run(self, operation: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, operation)

    def _identify(
        self, request: ToolCallRequest, loop: asyncio.AbstractEventLoop | None = None
    ) -> _JournaledCall | None:
        """Return the call in its thread; None if it is not journaled."""
        info = request.runtime.execution_info
        if info is None or info.thread_id is None or request.tool_call["name"] in self._read_only:
            return None
        saver = request.runtime.config.get("configurable", {}).get(CHECKPOINTER)
        namespace = info.checkpoint_ns.rpartition("|")[0]
        call, messages = request.tool_call, _get_messages(request)
        message = next(m for m in reversed(messages) if isinstance(m, AIMessage))
        outer, outer_namespace = _outer_call.get()
        key = CallKey(
            scope=clean(outer + namespace.removeprefix(outer_namespace)),
            checkpoint=info.checkpoint_id,
            message=clean(message.id),
            task=info.task_id,
            digest=digest_call(call),
            call_id=str(call["id"]),
        )
        former_key = f"{clean(namespace)}/{key.task}/{key.digest}/{key.call_id}"
        thread = self._open_thread(info.thread_id, saver)
        config = {"configurable": {"thread_id": info.thread_id, "checkpoint_ns": namespace}}
        recorded = RecordedCalls(thread.journal, key, messages, saver, config, loop)
        is_agent = call["name"] in self._subagents
        return _JournaledCall(thread, key, former_key, request, recorded, is_agent)

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
        return SqliteRecords(Path(store).expanduser().absolute())
    records = select_records(store)
    if records is None:
        raise UsageError(
            f"EffectJournal cannot keep records next to a {type(store).__name__}; give the path of "
            "its SQLite file, or the URL of a PostgreSQL database."
        )
    return records


def _claim(call: _JournaledCall) -> Result | Claim:
    """Claim a call, or return its answer if it has started before. Blocking.

    Raises:
        StorageError: the claim cannot be written, so the call must not be executed.
    """
    journal = call.thread.journal
    with call.thread.lock, journal.claiming():
        name = call.recorded.find_same()
        if name is None and journal.look_up(call.former_key) is not None:
            name = call.former_key
        answer = _answer_same(call, name) if name else _answer_lost(call)
        if isinstance(answer, Claim):
            journal.begin(str(call.key), answer)
        return answer


def _answer_same(call: _JournaledCall, name: str) -> Result | Claim:
    """Return the recorded result of a call, or a claim to repeat it."""
    entry = call.thread.journal.entries[name]
    if entry.state == "begun" and call.runs_agent:
        return entry.claim  # its own calls are answered from the journal
    return _replay(call, entry)


def _answer_lost(call: _JournaledCall) -> Result | Claim:
    """Answer a call that may repeat what a crash has lost, or claim it. Blocking.

    The same call is answered from the journal. For a different one, the model is told once which
    calls are recorded, except those that are also in the current message.
    """
    journal, lost = call.thread.journal, call.recorded.find_lost()
    same = [name for name in lost if _read_digest(name) == call.key.digest]
    same.sort(key=lambda name: not name.endswith(f"/{call.key.call_id}"))
    reported = same[:1]
    answer: Result | Claim
    if same:
        answer = _answer_same(call, same[0])
    else:
        expected = call.recorded.digests() if lost else set()
        reported = [name for name in lost if _read_digest(name) not in expected]
        if not reported:
            return Claim(call.request.tool_call["name"], scope=digest(str(call.key)))
        entries = [journal.entries[name] for name in reported]
        names = [str((e.message or {}).get("name") or e.claim.tool or "a call") for e in entries]
        answer = _refuse(call, OLDER_STATE.format(calls=", ".join(names)))
    if not isinstance(answer, Claim):
        later = [name for name in lost if name not in reported]
        journal.finish_before(str(call.key), JournalEntry("done", **_record(call, answer)), later)
    for name in reported:
        journal.release(name)
    return answer


def _read_digest(name: str) -> str:
    return name.split("/", 5)[4]


@contextmanager
def _inside(call: _JournaledCall, claim: Claim) -> Iterator[None]:
    """Record the calls of agents that run in the block under the call with this claim."""
    info = call.request.runtime.execution_info
    token = _outer_call.set((claim.scope, info.checkpoint_ns if info and claim.scope else ""))
    try:
        yield
    finally:
        _outer_call.reset(token)


def _get_messages(request: ToolCallRequest) -> Sequence[BaseMessage]:
    state = request.state
    messages: Sequence[BaseMessage]
    messages = state["messages"] if isinstance(state, dict) else state.messages
    return messages


def _replay(call: _JournaledCall, entry: JournalEntry) -> Result:
    """Return the recorded result of a call, or a message that its effect is unknown."""
    if entry.message is None:
        return _refuse(call, UNKNOWN_EFFECT)
    if entry.packed is None:
        return _address(ToolMessage(**entry.message), call)
    result: Result = unpack_value(entry.packed)
    if isinstance(result, ToolMessage):
        return _address(result, call)
    if isinstance(result.update, dict) and "messages" in result.update:
        messages = [
            _address(message, call) if isinstance(message, ToolMessage) else message
            for message in result.update["messages"]
        ]
        result = replace(result, update={**result.update, "messages": messages})
    return result


def _address(message: ToolMessage, call: _JournaledCall) -> ToolMessage:
    """Return a recorded message with the id of this call; the same call may have another id."""
    call_id = call.request.tool_call["id"]
    if message.tool_call_id == call_id:
        return message
    return message.model_copy(update={"tool_call_id": call_id, "id": None})


def _refuse(call: _JournaledCall, text: str) -> ToolMessage:
    tool_call = call.request.tool_call
    return ToolMessage(text, tool_call_id=tool_call["id"], name=tool_call["name"], status="error")


def _release(call: _JournaledCall) -> None:
    """Release the claim of a call that interrupts or raises. Blocking."""
    with call.thread.lock:
        call.thread.journal.release(str(call.key))


def _finish(call: _JournaledCall, result: Result) -> None:
    """Record the result of a call. Blocking."""
    with call.thread.lock:
        call.thread.journal.finish(str(call.key), **_record(call, result))


def _record(call: _JournaledCall, result: Result) -> dict[str, Any]:
    """Return the message of a result, and the packed result if it is more than a message."""
    tool_call = call.request.tool_call
    content: dict[str, Any] = {"tool_call_id": tool_call["id"], "name": tool_call["name"]}
    packed = None
    is_plain = isinstance(result, ToolMessage) and result.artifact is None
    if isinstance(result, ToolMessage):
        content = result.model_dump(exclude={"artifact"}, exclude_unset=True)
    if not is_plain and is_storable(result):
        packed = pack_value(result)
    return {"message": content, "packed": packed}
