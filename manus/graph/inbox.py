"""Send messages to a thread while a run works on it, list them, and withdraw them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from manus.config.context import HELD
from manus.graph.inputs import is_served
from manus.graph.outcome import is_over
from manus.nodes.active_run import ActiveRun
from manus.state.endings import get_ending
from manus.state.errors import UsageError
from manus.threads.records.base import Records
from manus.threads.records.inbox import (
    Inbox,
    InboxMessage,
    SqliteInbox,
    list_unread,
    new_message,
)
from manus.threads.records.select import CHECKPOINTER, select_records
from manus.threads.records.thread_inbox import ThreadInbox

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph

SERVED_INBOX = SqliteInbox()
"""Inboxes of a LangGraph server whose store cannot hold them."""
NO_STORE = (
    "Messages to a running thread need a checkpointer: build the graph with one, for example "
    "`open_sqlite`."
)
_memory: weakref.WeakKeyDictionary[Any, SqliteInbox] = weakref.WeakKeyDictionary()
"""Inboxes of checkpointers that cannot hold them."""


def select_inbox(
    saver: Any, records: Records | None = None, *, is_served: bool = False
) -> Inbox | None:
    """Return the inboxes of the threads of a checkpointer; None without one."""
    records = records or select_records(saver)
    if records is not None:
        return records.inbox
    if is_served:
        return SERVED_INBOX
    if not isinstance(saver, BaseCheckpointSaver):
        return None
    return _memory.setdefault(saver, SqliteInbox())


def find_inbox(saver: Any) -> Inbox:
    """Return the inboxes of the threads of a checkpointer.

    Raises:
        UsageError: it is not a checkpointer.
    """
    inbox = select_inbox(saver)
    if inbox is None:
        raise UsageError(NO_STORE)
    return inbox


def send_message(
    checkpointer: BaseCheckpointSaver[Any], thread_id: str, text: str, *, queue: bool = False
) -> str:
    """Send a message to a thread while a run works on it, and return the id of the message.

    The model reads it at the next step. With `queue`, it becomes the next request when the run
    ends. Any process that uses the same store can send.

    Raises:
        UsageError: the text is empty, or there is no checkpointer.
    """
    message = new_message(text, queue=queue)
    find_inbox(checkpointer).add(thread_id, message)
    return message.id


def list_messages(checkpointer: BaseCheckpointSaver[Any], thread_id: str) -> list[InboxMessage]:
    """Return the messages to a thread that are unread, in the order of sending.

    Raises:
        UsageError: there is no checkpointer.
    """
    return list_unread(find_inbox(checkpointer).read(thread_id))


def withdraw_message(
    checkpointer: BaseCheckpointSaver[Any], thread_id: str, message_id: str
) -> bool:
    """Withdraw a message to a thread; return False if it was already read.

    Raises:
        UsageError: there is no checkpointer.
    """
    return find_inbox(checkpointer).withdraw(thread_id, message_id)


async def open_inbox(
    graph: RunGraph[Any],
    parent: ActiveRun | None,
    configurable: dict[str, Any],
    records: Records | None,
) -> ThreadInbox | None:
    """Return the inbox of the thread for a run; None if the run reads no messages.

    Messages to a plan are also read by the executors of its steps; those to an agent are not read
    by the agents that it delegates to.
    """
    namespace = str(configurable.get("checkpoint_ns", ""))
    if parent is not None:
        if parent.inbox is None or not parent.shares_inbox:
            return None
        return parent.inbox.for_namespace(namespace)
    saver = configurable.get(CHECKPOINTER) or graph.checkpointer
    served = is_served({"configurable": configurable})
    inbox = select_inbox(saver, records, is_served=served)
    if inbox is None or "thread_id" not in configurable:
        return None
    thread = ThreadInbox(inbox, str(configurable["thread_id"]), namespace)
    if not namespace:
        await _release_abandoned(graph, thread, configurable)
    return thread


async def take_next_request(
    inbox: ThreadInbox, stop_reason: str | None, history: Sequence[AnyMessage]
) -> HumanMessage | None:
    """Return the message that becomes the next request after a run; None if there is none.

    After an error or an interrupt it stays in the inbox until the run is resumed.
    """
    if stop_reason is None or not get_ending(stop_reason, success=True).takes_messages:
        return None
    return await inbox.next_request(history)


async def next_input(
    graph: RunGraph[Any], active_run: ActiveRun, configurable: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the input of the next run, if a user message is waiting for the end of this one.

    A caller who holds the thread starts that run itself. A server has its own queue, and its
    `run_id` identifies one input: with the same id LangGraph would resume the run that has ended.
    """
    is_nested = active_run.is_inside or bool(configurable.get("checkpoint_ns"))
    is_of_caller = bool(configurable.get(HELD) or configurable.get("run_id"))
    if is_nested or is_of_caller or active_run.session.waiting:
        return None
    inbox = active_run.inbox
    if inbox is None or not await inbox.read():
        return None
    snapshot = await graph.stored_state(configurable)
    if snapshot is None or not is_over(snapshot):
        return None
    values = snapshot.values
    reason = values.get("stop_reason")
    request = await take_next_request(inbox, reason, values.get("messages", []))
    return None if request is None else {"messages": [request], "status": "running"}


async def _release_abandoned(
    graph: RunGraph[Any], inbox: ThreadInbox, configurable: dict[str, Any]
) -> None:
    """Mark messages as unread again that a nested graph took before a crash and did not store.

    The thread must be locked, so that no nested graph of it is running.
    """
    for message in await inbox.read():
        if not message.reader or message.reader == inbox.namespace:
            continue
        nested = {"thread_id": configurable["thread_id"], "checkpoint_ns": message.reader}
        snapshot = await graph.stored_state(nested)
        history = snapshot.values.get("messages", []) if snapshot is not None else []
        if any(stored.id == message.id for stored in history):
            await inbox.remove([message.id])
        else:
            await inbox.release(message)
