"""Send messages to a thread during a run, for the command line and the page."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from manus.graph.inbox import take_next_request
from manus.state.endings import UNFINISHED, WAITING
from manus.state.errors import UsageError
from manus.state.request import Request
from manus.state.taint import Exposure, request_fields
from manus.threads.base import Store
from manus.threads.records.inbox import InboxMessage, list_unread, new_message
from manus.threads.records.thread_inbox import ThreadInbox
from manus.threads.thread_list import is_being_worked_on, read_thread

if TYPE_CHECKING:
    from manus.runs.jobs import Job

_CONTINUING = (UNFINISHED.label, WAITING.label)
"""Statuses of a thread whose run has not ended."""
_LONGEST_END = 5.0
"""Seconds to wait for a run that has stored its last state."""
_PAUSE = 0.1
"""Seconds between two checks."""


async def send(store: Store, thread_id: str, request: Request, *, queue: bool) -> InboxMessage:
    """Store a message to a thread.

    Raises:
        UsageError: it is empty.
    """
    fields: dict[str, Any] = {}
    if request.text != request.user_text:
        exposure = Exposure(request.is_tainted, private=True)
        fields = request_fields(request.user_text, exposure)
    message = new_message(request.text, queue=queue, fields=fields)
    inbox = store.records.inbox
    await inbox.run(partial(inbox.add, thread_id, message))
    return message


async def read_inbox(store: Store, thread_id: str) -> list[InboxMessage]:
    """Return the messages to a thread that are unread, or were read in the current step."""
    inbox = store.records.inbox
    return await inbox.run(partial(inbox.read, thread_id))


async def read_unread(store: Store, thread_id: str) -> list[InboxMessage]:
    """Return the messages to a thread that are unread, in the order of sending."""
    return list_unread(await read_inbox(store, thread_id))


async def will_be_read(store: Store, thread_id: str, message: InboxMessage) -> bool:
    """Return whether the run that works on a thread reads a message that has just been stored.

    A run looks for messages after it has stored its last state. If that state is stored, it may
    have looked before the message arrived: then wait until it has read the message, or has ended.
    """
    attempts = int(_LONGEST_END / _PAUSE)
    for _ in range(attempts):
        thread = await read_thread(store, thread_id)
        if not await is_being_worked_on(store, thread_id):
            break
        if thread is None or thread.status in _CONTINUING:
            return True
        await asyncio.sleep(_PAUSE)
    unread = await read_unread(store, thread_id)
    return message.id not in {item.id for item in unread}


async def withdraw(store: Store, thread_id: str, prefix: str) -> InboxMessage:
    """Withdraw an unread message, given by its id or a prefix of it, and return it.

    Raises:
        UsageError: no unread message matches, or several do.
    """
    matches = []
    for message in await read_unread(store, thread_id):
        if prefix and message.id.startswith(prefix):
            matches.append(message)
    if len(matches) > 1:
        raise UsageError(f"Several message ids start with {prefix}; enter more of the id.")
    inbox = store.records.inbox
    for message in matches:
        if await inbox.run(partial(inbox.withdraw, thread_id, message.id)):
            return message
    raise UsageError(
        f"The thread {thread_id} has no unread message {prefix}: the agent has already read it, "
        "or it was withdrawn."
    )


async def create_next_job(job: Job, stop_reason: str | None) -> Job | None:
    """Return the job for the message that is the next request of a thread; None without one."""
    store: Store = job.graph.checkpointer
    inbox = ThreadInbox(store.records.inbox, job.thread_id)
    if not await inbox.read():
        return None
    values = (await job.graph.aget_state(job.config())).values
    request = await take_next_request(inbox, stop_reason, values.get("messages", []))
    if request is None:
        return None
    graph_input = {"messages": [request]}
    return replace(
        job, graph_input=graph_input, pending=None, is_report_only=False, checkpoint_id=None
    )
