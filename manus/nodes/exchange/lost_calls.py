"""Find calls whose effects are there while the stored state of the thread knows nothing of them.

The store may have been restored from an older copy. The journal, which is kept apart from it, then
has newer results than the state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from langchain_core.messages import AnyMessage, ToolMessage

from manus.execution.session import Session
from manus.prompts import agent as prompts
from manus.prompts.formatting import count
from manus.prompts.sources import plain
from manus.state.agent import Compaction
from manus.state.messages import get_text
from manus.state.text import one_line

log = logging.getLogger("manus")

_MAX_LISTED = 10
"""Calls named in a report, the newest."""
_MAX_RESULT = 100
"""Characters of the result of a call."""


async def report_lost_calls(
    session: Session, messages: Sequence[AnyMessage], compaction: Compaction | None
) -> None:
    """Report the recorded calls that are not in the history, to the user and to the model."""
    recorded = session.recorded_calls
    session.recorded_calls = []
    lost = find_lost_calls(recorded, messages)
    if lost and compaction is not None:
        archived = await asyncio.to_thread(session.archive.ids)
        lost = [call for call in lost if call.id not in archived]
    if not lost:
        return
    await session.journal.afork()  # they are reported once
    listing = [f"`{call.name}` → {_describe(call)}" for call in lost[-_MAX_LISTED:]]
    session.lost_calls = prompts.lost_calls(listing, len(lost))
    log.warning(
        "This thread's stored state is older than the record of its tool calls, as if it had been "
        "restored from a copy. Missing from it, while their effects remain: %s: %s.",
        count(len(lost), "call"),
        "; ".join(listing),
    )


def find_lost_calls(
    recorded: Sequence[ToolMessage], messages: Sequence[AnyMessage]
) -> list[ToolMessage]:
    """Return the recorded calls after the newest one that is in the history."""
    results = [message for message in messages if isinstance(message, ToolMessage)]
    # a result that was repaired from the journal has an id of its own
    known = {message.id for message in results} | {message.tool_call_id for message in results}
    lost: list[ToolMessage] = []
    for call in reversed(recorded):
        if call.id in known or call.tool_call_id in known:
            break
        lost.append(call)
    return lost[::-1]


def _describe(call: ToolMessage) -> str:
    return one_line(plain(get_text(call)), _MAX_RESULT)
