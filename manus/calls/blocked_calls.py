"""Refusals of calls that ask a question, and of calls whose programs were blocked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from manus.calls.approval import APPROVE, Call, build_refusal, preview_call, save_rules
from manus.calls.decisions import Answer, ask_person, hitl_question, read_answer
from manus.calls.egress_guard import ANY_HOST, RunningCall, host_rule
from manus.calls.result import ToolResult
from manus.prompts import approval as prompts
from manus.state.agent import Refusal
from manus.state.messages import OWN_TEXT, get_own_text
from manus.state.text import one_line

BLOCKED = "blocked"
"""Key of the facts of a message about a call whose programs were kept from hosts."""

_MAX_QUESTION = 300
"""Maximum length of a question in the list of refusals."""


class Blocked(NamedTuple):
    """What the message of a call records if its programs were kept from hosts."""

    hosts: list[str]
    questions: int
    """How many times the user was asked before the call was executed."""


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


async def ask_about_blocked(call: Call, result: ToolResult) -> ToolResult:
    """Ask the user about the hosts that the programs of an executed call were kept from.

    The answer is valid until the run ends, and the model reads it in the result. A resume replays
    the result from the journal, so the call itself is not executed again.

    Raises:
        GraphInterrupt: there is no answer yet.
    """
    session = call.session
    facts = result.message.additional_kwargs.get(BLOCKED)
    if facts is None or call.config is None or session.settings.approve.mode == "refuse":
        return result
    blocked = Blocked(**facts)
    guard = session.egress_guard
    hosts = [*dict.fromkeys(blocked.hosts)]
    if call.key not in session.asked:  # otherwise there may be an answer
        hosts = [host for host in hosts if _needs_question(host, call)]
    if not hosts:
        return result
    guard.asking.update(dict.fromkeys(hosts, call.key))
    rules = tuple(map(host_rule, hosts))
    answer, reason = await _ask(call, hosts, rules, blocked.questions)
    for host in hosts:
        guard.asking.pop(host, None)
    if answer == "no":
        why = guard.explain(hosts, by_program=True)
        refused = build_refusal(call, why, hosts, "person")
        message = _add_note(result.message, prompts.hosts_refused(hosts, reason))
        return replace(result, message=message, refused=(*result.refused, refused))
    if answer == "always":
        await asyncio.to_thread(save_rules, rules, session)
    if answer == "web":
        rules = (ANY_HOST,)
    message = _add_note(result.message, prompts.hosts_allowed(hosts))
    return replace(result, message=message, approved=(*result.approved, *rules))


def _needs_question(host: str, call: Call) -> bool:
    """Return whether the user has to decide about a host, and no other call asks already."""
    guard = call.session.egress_guard
    is_open = guard.needs_approval(host, by_program=True) and not guard.was_refused(host)
    return is_open and guard.asking.get(host, call.key) == call.key


async def _ask(
    call: Call, hosts: Sequence[str], rules: Sequence[str], answered: int
) -> tuple[Answer, str]:
    """Return the decision about hosts, and its reason.

    `answered` questions were about the call itself; their answers come first when it resumes.
    """
    name = call.tool.name
    why = call.session.egress_guard.explain(hosts, by_program=True)
    preview = await asyncio.to_thread(preview_call, call.tool, call.args)
    scopes = ("always", "web")
    problem = ""
    unread = answered
    while True:
        subject = prompts.blocked_subject(name, why, preview, problem)
        text = prompts.blocked_question(subject, rules)
        facts = {"call": "", "rules": rules, "subject": subject, "scopes": scopes}
        question = hitl_question(APPROVE, name, call.args, text, ["approve", "reject"], **facts)
        for _ in range(unread):
            ask_person(call.session, question)
        unread = 0
        answer, message = read_answer(ask_person(call.session, question, answered), name)
        answered += 1
        if answer not in ("edit", "unclear"):
            return answer, message
        problem = message if answer == "unclear" else prompts.CANNOT_EDIT


def _add_note(message: ToolMessage, note: str) -> ToolMessage:
    """Return a message with a note of ours before its text."""
    content = message.content
    if isinstance(content, str):
        content = f"{note}\n{content}"
    else:
        content = [{"type": "text", "text": note}, *content]
    own_text = "\n".join(filter(None, (note, get_own_text(message))))
    kwargs = {**message.additional_kwargs, OWN_TEXT: own_text}
    return message.model_copy(update={"content": content, "additional_kwargs": kwargs})


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
