"""Name the calls that took effect but are missing from the stored state of the thread.

The store may have been restored from an older copy. The journal, which is stored separately, then
has newer results than the state. The steps of a plan and delegated tasks are recorded like calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import ToolMessage

from manus.calls.session import Session
from manus.prompts import agent as prompts
from manus.prompts.formatting import count
from manus.prompts.sources import plain
from manus.state.messages import get_text
from manus.state.plan import short_title
from manus.state.text import one_line
from manus.threads.journal import Claim, Journal

log = logging.getLogger("manus")

_MAX_LISTED = 10
"""Calls named in a warning, the newest."""
_CALL = "call"
"""Id of the call of a delegated task, in the record of its end."""
_MAX_RESULT = 100
"""Characters of the result of a call."""


async def report_lost_calls(session: Session, state: Mapping[str, Any]) -> None:
    """Warn the user and the model of recorded calls that a state does not contain, once."""
    recorded, session.recorded_calls = session.recorded_calls, []
    unfinished = session.journal.unfinished
    if not (recorded or unfinished):
        return
    known = await asyncio.to_thread(_list_known, session, state)
    lines: list[str] = []
    for call in filter(None, map(session.journal.find_result, reversed(recorded))):
        if not known.isdisjoint((call.id, call.additional_kwargs.get(_CALL, call.tool_call_id))):
            break
        lines.insert(0, f"`{call.name}` → {one_line(plain(get_text(call)), _MAX_RESULT)}")
    for key, claim in unfinished.items():
        if claim.call_id and known.isdisjoint((key, claim.call_id)):
            lines.append(f"`{claim.tool}` → (it did not finish)")
    if not lines:
        return
    await session.journal.afork()  # so that they are reported only once
    listed = lines[-_MAX_LISTED:]
    note = prompts.lost_calls(listed, len(lines))
    session.lost_calls = "\n\n".join(filter(None, (session.lost_calls, note)))
    log.warning(
        "This thread's stored state is older than the record of its calls, as if it had been "
        "restored from a copy. Missing from it, although their effects remain: %s: %s.",
        count(len(lines), "call"),
        "; ".join(listed),
    )


def _list_known(session: Session, state: Mapping[str, Any]) -> set[str]:
    """Return the ids of the calls, and the namespaces and active titles of steps, in a state."""
    known = session.archive.ids() if state.get("compaction") else set()
    for message in state.get("messages", []):
        if isinstance(message, ToolMessage):  # one repaired from the journal has its own id
            known |= {str(message.id), message.tool_call_id}
    for plan in (*state.get("plans", {}).values(), state.get("plan") or {"steps": []}):
        for step in (*plan["steps"], *plan.get("dropped", [])):
            known.add(step.get("space", ""))
            if step["status"] == "in_progress":
                known.add(short_title(step))
    return known


async def record_start(journal: Journal, namespace: str, name: str, call_id: str) -> None:
    """Record that a nested agent starts, under its checkpoint namespace.

    Its calls are in its own journal, which the calling graph does not read.
    """
    if journal.look_up(namespace) is None:
        await journal.abegin(namespace, Claim(name, call_id=call_id))


async def record_end(
    journal: Journal, namespace: str, name: str, call_id: str, result: str
) -> None:
    """Record that a nested agent has ended."""
    message = ToolMessage(
        one_line(result, _MAX_RESULT),
        tool_call_id=namespace,  # no answer: the result itself is not in the record
        name=name,
        additional_kwargs={_CALL: call_id},
    )
    await journal.afinish(namespace, message.model_dump(exclude_unset=True))
