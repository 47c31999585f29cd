"""Refusals of calls that ask a question, and of calls whose programs were blocked."""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.errors import GraphBubbleUp, GraphInterrupt

from manus.calls.approval import Call, Verdict, digest_call
from manus.calls.egress_guard import RunningCall, host_rule
from manus.state.agent import Refusal
from manus.state.text import one_line

_MAX_QUESTION = 300
"""Maximum length of a question in the list of refusals."""


async def refuse_interrupt(call: Call, error: GraphBubbleUp) -> Refusal:
    """Return the refusal of a tool's question in a run that must not ask.

    Raises:
        GraphBubbleUp: the given error, in other runs.
    """
    session = call.session
    if not call.read_only:
        # it interrupts before it takes effect, and runs again after the answer
        await session.journal.arelease(call.key)
    if session.settings.approve.mode != "refuse" or not isinstance(error, GraphInterrupt):
        raise error
    return Refusal(call=call.tool.name, reason=_join_questions(error), by="mode", rules=[])


async def note_end(call: Call, running_call: RunningCall, verdict: Verdict) -> None:
    """Inform the guards what the programs of a call have fetched, and what was blocked."""
    session = call.session
    session.egress_guard.taint_by_fetch()
    if not running_call.blocked:
        return
    session.was_blocked = True
    digest = verdict.digest or await digest_call(call)
    session.egress_guard.note_blocked(digest, call.tool.name, running_call)


def _join_questions(error: GraphInterrupt) -> str:
    """Return the questions of a tool's interrupt as one text."""
    questions = []
    for question in error.args[0] if error.args else ():
        value = question.value
        text = value.get("question") if isinstance(value, Mapping) else value
        questions.append(one_line(str(text), _MAX_QUESTION))
    return " ".join(questions)


def list_refusals(call: Call, running_call: RunningCall) -> tuple[Refusal, ...]:
    """Return the refusals of blocked actions of programs, about which nobody will be asked."""
    refusals = []
    for host in dict.fromkeys(running_call.blocked):
        connection = f"{call.tool.name}: a connection to {host}"
        reason = call.session.egress_guard.explain([host], by_program=True)
        refusals.append(Refusal(call=connection, reason=reason, by="mode", rules=[host_rule(host)]))
    return tuple(refusals)
