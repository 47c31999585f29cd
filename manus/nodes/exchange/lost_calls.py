"""Find calls that took effect but are missing from the stored state of the thread.

The store may have been restored from an older copy. The journal, which is stored separately, then
has newer results than the state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, ToolMessage

from manus.calls.call import JOURNALLED
from manus.calls.session import Session
from manus.prompts import agent as prompts
from manus.prompts.formatting import count
from manus.prompts.sources import plain
from manus.state.agent import Compaction
from manus.state.messages import get_text
from manus.state.text import one_line
from manus.threads.journal import Claim, Journal
from manus.tools.delegate import DELEGATE

log = logging.getLogger("manus")

_MAX_LISTED = 10
"""Calls named in a report, the newest."""
_CALL = "call"
"""Id of the call of a delegated task, in the record of its end."""
_MAX_RECORD = 200
"""Characters of the record of a delegated task."""
_MAX_RESULT = 100
"""Characters of the result of a call."""


async def report_lost_calls(
    session: Session, messages: Sequence[AnyMessage], compaction: Compaction | None
) -> None:
    """Report the recorded calls that are not in the history, to the user and to the model."""
    recorded = session.recorded_calls
    session.recorded_calls = []
    missing = find_lost_calls(recorded, messages)
    if missing and compaction is not None:
        archived = await asyncio.to_thread(session.archive.ids)
        missing = [call for call in missing if call.id not in archived]
    listing = [f"`{call.name}` → {_describe(call)}" for call in missing]
    listing += _list_unfinished(session.journal, messages)
    if not listing:
        return
    await session.journal.afork()  # so that they are reported only once
    total = len(listing)
    listing = listing[-_MAX_LISTED:]
    session.lost_calls = prompts.lost_calls(listing, total)
    log.warning(
        "This thread's stored state is older than the record of its tool calls, as if it had been "
        "restored from a copy. Missing from it, although their effects remain: %s: %s.",
        count(total, "call"),
        "; ".join(listing),
    )


def find_lost_calls(
    recorded: Sequence[ToolMessage], messages: Sequence[AnyMessage]
) -> list[ToolMessage]:
    """Return the recorded calls after the newest one that is in the history."""
    results = [message for message in messages if isinstance(message, ToolMessage)]
    # a result that was repaired from the journal has its own id
    known_ids = {message.id for message in results} | {message.tool_call_id for message in results}
    missing: list[ToolMessage] = []
    for call in reversed(recorded):
        call_id = call.additional_kwargs.get(_CALL, call.tool_call_id)
        if call.id in known_ids or call_id in known_ids:
            break
        missing.append(call)
    return missing[::-1]


async def record_start(journal: Journal, namespace: str, call_id: str) -> None:
    """Record that an agent with a delegated task starts, under its checkpoint namespace.

    Its calls are in its own journal, which the calling agent does not read.
    """
    if journal.look_up(namespace) is None:
        await journal.abegin(namespace, Claim(DELEGATE, call_id=call_id))


async def record_end(
    journal: Journal, namespace: str, call_id: str, result: str, messages: Sequence[AnyMessage]
) -> None:
    """Record that a delegated task has ended; a task without effects is forgotten."""
    names = []
    for message in messages:
        if isinstance(message, ToolMessage) and JOURNALLED in message.additional_kwargs:
            names.append(f"`{message.name}`")
    if not names:
        await journal.arelease(namespace)
        return
    text = f"{count(len(names), 'call')} ({', '.join(dict.fromkeys(names))}); {result}"
    message = ToolMessage(
        one_line(text, _MAX_RECORD),
        tool_call_id=namespace,  # no answer: the result itself is not in the record
        name=DELEGATE,
        additional_kwargs={_CALL: call_id},
    )
    await journal.afinish(namespace, message.model_dump(exclude_unset=True))


def _list_unfinished(journal: Journal, messages: Sequence[AnyMessage]) -> list[str]:
    """Return a line for each call that has started, did not end and is not in the history."""
    answered_ids = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    lines = []
    for claim in journal.unfinished.values():
        if claim.call_id and claim.call_id not in answered_ids:
            lines.append(f"`{claim.tool}` → (it did not finish)")
    return lines


def _describe(call: ToolMessage) -> str:
    return one_line(plain(get_text(call)), _MAX_RESULT)
