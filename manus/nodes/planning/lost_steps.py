"""Record the steps of a plan in the journal, and find those that the stored plan does not have.

The store may have been restored from an older copy. The journal, which is stored separately, then
has steps that are missing from the plan, although their effects remain.
"""

from __future__ import annotations

import logging

from langchain_core.messages import ToolMessage

from manus.calls.session import Session
from manus.prompts import flow as prompts
from manus.prompts.formatting import count
from manus.state.flow import FlowState
from manus.state.plan import Plan, short_title
from manus.state.text import one_line
from manus.threads.journal import Claim, Journal

log = logging.getLogger("manus")

_TOOL = "plan_step"
_MAX_LISTED = 10
"""Steps named in a report, the newest."""
_MAX_TEXT = 150
"""Characters of a step and its result."""


async def record_start(journal: Journal, space: str, title: str) -> None:
    """Record that a step starts, under the checkpoint namespace of its executor."""
    if journal.look_up(space) is None:
        await journal.abegin(space, Claim(title))


async def record_end(journal: Journal, space: str, title: str, result: str) -> None:
    """Record that a step has ended."""
    text = one_line(f"{title} → {result}", _MAX_TEXT)
    message = ToolMessage(text, tool_call_id=space, name=_TOOL)
    await journal.afinish(space, message.model_dump(exclude_unset=True))


async def report_lost_steps(session: Session, state: FlowState) -> None:
    """Report recorded steps that are not in the plans of the thread, to the user and the model."""
    recorded = session.recorded_calls
    session.recorded_calls = []
    known_spaces, active_titles = _list_known(state)
    missing: list[str] = []
    for step in reversed(recorded):
        if step.tool_call_id in known_spaces:
            break
        missing.insert(0, str(step.content))
    for space, claim in session.journal.unfinished.items():
        if space not in known_spaces and claim.tool not in active_titles:
            missing.append(f"{one_line(claim.tool, _MAX_TEXT)} → (it did not finish)")
    if not missing:
        return
    await session.journal.afork()  # so that they are reported only once
    session.lost_calls = prompts.lost_steps(missing[-_MAX_LISTED:])
    log.warning(
        "This thread's stored state is older than the record of its steps, as if it had been "
        "restored from a copy. Missing from it, although their effects remain: %s: %s.",
        count(len(missing), "step"),
        "; ".join(missing[-_MAX_LISTED:]),
    )


def _list_known(state: FlowState) -> tuple[set[str], set[str]]:
    """Return the namespaces of all steps in the plans of a thread, and the titles of active ones.

    The namespace of a step is stored when it ends or is set aside.
    """
    plans: list[Plan] = [*state.get("plans", {}).values()]
    if state.get("plan"):
        plans.append(state["plan"])
    spaces = set()
    active = set()
    for plan in plans:
        for step in [*plan["steps"], *plan.get("dropped", [])]:
            spaces.add(step.get("space", ""))
            if step["status"] == "in_progress":
                active.add(short_title(step))
    return spaces, active
