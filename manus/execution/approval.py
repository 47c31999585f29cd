"""Decide whether a call may be made: by the person's rules, or by the person's answer.

The question is an interrupt, so that it waits in the checkpoint. An answer counts for the call that
the question showed, by a digest of its name, arguments and place; it comes by a resume alone.
"""

from __future__ import annotations

import asyncio
import glob
import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from manus.config.safety_settings import is_covered, matches
from manus.config.trust import approve_rules
from manus.execution.base import AgentTool
from manus.execution.decisions import ask_person, edited_arguments, hitl_question, read_answer
from manus.execution.egress_guard import HOST, Access
from manus.execution.git_guard import GIT
from manus.execution.sandbox.sandbox import sandbox_of
from manus.execution.session import Resource, Session
from manus.prompts import approval as prompts
from manus.state.agent import Refusal, ToolTask
from manus.state.errors import ToolUnavailableError
from manus.state.text import one_line

log = logging.getLogger("manus")

APPROVE = "approve"
"""The kind of its question."""
_ENTRY = 200
"""Characters of a call in the list of what was refused."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call, and what it is carried out with."""

    tool: BaseTool
    args: dict[str, Any]
    resources: frozenset[Resource]
    read_only: bool
    task: ToolTask
    key: str
    """Of the task that makes it."""
    session: Session
    config: RunnableConfig | None
    """None outside of a run: its caller decides then; rules that forbid hold all the same."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a call. It may be made unless there is a refusal."""

    refusal: str = ""
    """What the model is told instead of a result."""
    rules: tuple[str, ...] = ()
    """Rules about calls like it that hold from now on, until the run ends."""
    accesses: tuple[Access, ...] = ()
    """Hosts that the call may send to, and how."""
    args: dict[str, Any] | None = None
    """The person's arguments in place of the model's."""
    note: str = ""
    """What the model is told of them."""
    digest: str = ""
    """The digest of the call."""
    may_change_git: bool = False
    """Whether a person has let its programs change the repositories that were there before."""
    refused: Refusal | None = None
    """The entry for the list of what was refused in the run."""


class _Facts(NamedTuple):
    """What a decision is made from."""

    subjects: Sequence[str]
    """What rules that forbid are matched with: whatever the call may be about."""
    allowed_subjects: Sequence[str] | None
    """What rules that allow must cover; None if no rule with a pattern can."""
    reason: str
    """Why a person is asked about the call; empty if there is no need."""
    accesses: tuple[Access, ...]
    """Where the call sends something, or where it tried to when it was made before."""
    digest: str
    changes_git: bool = False
    """Whether it changes a repository that was there before the run, or tried to."""


async def judge(call: Call) -> Verdict:
    """Decide whether a call may be made.

    Raises:
        GraphInterrupt: a person is asked.
    """
    session = call.session
    facts = await asyncio.to_thread(_facts, call)
    facts = facts._replace(changes_git=await _changes_git(call, facts.digest))
    rule = _denying_rule(session.settings.approve.deny, call.tool.name, facts)
    if rule is not None:
        return Verdict(prompts.denied(rule))
    accesses = tuple(filter(session.egress_guard.needs_approval, facts.accesses))
    reasons, rules = _reasons(call, facts, accesses)
    if not reasons or call.config is None:
        return Verdict(digest=facts.digest, may_change_git=facts.changes_git)
    why = " and ".join(reasons)
    verdict = _refusal_without_question(call, accesses, why)
    if verdict is None:
        verdict = await _ask_about(call, facts.digest, why, rules, accesses)
    if verdict.refusal or verdict.args is not None:
        return verdict
    if prompts.CHANGES_GIT in reasons:  # one answer holds until the run ends
        verdict = replace(verdict, rules=(*verdict.rules, GIT))
    return replace(
        verdict, accesses=accesses, digest=facts.digest, may_change_git=facts.changes_git
    )


async def _changes_git(call: Call, digest: str) -> bool:
    """Return whether a call changes a repository that is closed to programs, or tried to."""
    tool, session = call.tool, call.session
    if call.config is None or not isinstance(tool, AgentTool):
        return False
    if session.git_guard.was_held(digest):
        return True
    if type(tool).changes_repository is AgentTool.changes_repository:  # spares a thread switch
        return False
    if not await asyncio.to_thread(tool.changes_repository, call.args):
        return False
    try:
        sandbox = await sandbox_of(session)
    except ToolUnavailableError:  # the call itself will say so
        return False
    return sandbox.git is not None and sandbox.git.guards_repository


def _facts(call: Call) -> _Facts:
    """Collect what a decision about a call is made from. Blocking."""
    mode, tool, args = call.session.approve_mode, call.tool, call.args
    subjects: tuple[str, ...] = ()
    allowed_subjects: tuple[str, ...] | None = ()
    accesses: tuple[Access, ...] = ()
    reason = ""
    if isinstance(tool, AgentTool):
        subjects = tool.subjects(args)
        allowed_subjects = tool.allowed_subjects(args)
        reason = tool.leaves(args)
        accesses = tool.accesses(args)
    if mode == "ask" and not call.read_only:
        reason = reason or prompts.CHANGES
    if mode == "yolo":
        reason = ""
    content = json.dumps([tool.name, args, subjects], sort_keys=True, default=str)
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    held = call.session.egress_guard.accesses_held(digest, content)
    return _Facts(subjects or ("",), allowed_subjects, reason, (*accesses, *held), digest)


def _denying_rule(rules: Sequence[str], name: str, facts: _Facts) -> str | None:
    """Return the first rule that forbids a call."""
    about = [(name, subject) for subject in facts.subjects]
    about += [(HOST, access.host) for access in facts.accesses]
    about += [(GIT, "")] if facts.changes_git else []
    return next((rule for rule in rules if any(matches(rule, *pair) for pair in about)), None)


def _reasons(
    call: Call, facts: _Facts, accesses: Sequence[Access]
) -> tuple[list[str], tuple[str, ...]]:
    """Return why a person is asked about a call, and the rules that would make it unnecessary."""
    reasons: list[str] = []
    rules: tuple[str, ...] = ()
    session = call.session
    known = [*session.settings.approve.allow, *call.task.get("approved", ())]
    if call.key not in session.asked:  # else it must ask again, since an answer may be there
        known += session.approved
    if facts.reason and not is_covered(known, call.tool.name, facts.allowed_subjects or [""]):
        reasons.append(facts.reason)
        rules = _rules(call.tool, facts.allowed_subjects)
    if accesses:
        hosts = _hosts(accesses)
        guard = session.egress_guard
        is_first_use = any(map(guard.is_first_use, accesses))
        explain = prompts.first_use if is_first_use else prompts.sends
        reasons.append(explain(hosts, guard.why_tainted))
        rules += tuple(f"{HOST}({glob.escape(host)})" for host in hosts)
    is_covered_command = is_covered(known, call.tool.name, facts.allowed_subjects or [""])
    if facts.changes_git and session.git_guard.needs_approval() and not is_covered_command:
        reasons.append(prompts.CHANGES_GIT)
        rules += (GIT,)
    if not reasons and session.asked.get(call.key) == facts.digest:
        reasons.append(prompts.CHANGES)  # it was asked about: the answer counts all the same
    return reasons, rules


def _refusal_without_question(call: Call, accesses: Sequence[Access], why: str) -> Verdict | None:
    """Refuse a call about which nobody is asked; None if a person is to be asked."""
    session, guard = call.session, call.session.egress_guard
    if any(map(guard.was_network_refused, accesses)):
        return Verdict(prompts.refused_network())
    refused_before = [access for access in accesses if guard.was_refused(access)]
    if refused_before:
        return Verdict(prompts.refused_before(_hosts(refused_before)))
    if session.approve_mode == "refuse":
        return Verdict(prompts.refused_by_mode(why), refused=_entry(call, why, accesses, "mode"))
    elsewhere = [access for access in accesses if guard.asking.get(access, call.key) != call.key]
    if elsewhere:
        return Verdict(prompts.asked_elsewhere(_hosts(elsewhere)))
    return None


async def _ask_about(
    call: Call, digest: str, why: str, rules: tuple[str, ...], accesses: tuple[Access, ...]
) -> Verdict:
    """Ask the person about a call; the answer about a host holds until the run ends."""
    guard = call.session.egress_guard
    guard.asking.update(dict.fromkeys(accesses, call.key))
    verdict = await _ask(call, digest, why, rules, _hosts(accesses))
    for access in accesses:
        guard.asking.pop(access, None)
    if verdict.refusal:
        is_answer = verdict.refusal != prompts.NOT_WHAT_WAS_ASKED
        entry = _entry(call, why, accesses, "person") if is_answer else None
        return replace(verdict, refused=entry)
    if verdict.args is not None:
        return verdict
    return replace(verdict, rules=(*verdict.rules, *(access.rule for access in accesses)))


def _entry(
    call: Call, why: str, accesses: Sequence[Access], by: Literal["person", "mode"]
) -> Refusal:
    preview = _preview(call.tool, call.args)
    return Refusal(
        call=one_line(f"{call.tool.name}: {preview}", _ENTRY),
        reason=why,
        by=by,
        rules=[access.rule for access in accesses],
    )


def _hosts(accesses: Iterable[Access]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(access.host for access in accesses))


async def _ask(
    call: Call, digest: str, why: str, rules: tuple[str, ...], hosts: Sequence[str]
) -> Verdict:
    """Ask the person, again while the answer is unclear or an edit does not fit."""
    tool, problem = call.tool, ""
    preview = await asyncio.to_thread(_preview, tool, call.args)
    allowed = ["approve", "edit", "reject"]
    while True:
        subject = prompts.subject(tool.name, why, preview, problem)
        text = prompts.question(subject, rules, hosts, changes_git=GIT in rules)
        asked = hitl_question(
            APPROVE, tool.name, call.args, text, allowed, call=digest, subject=subject
        )
        answer, said = read_answer(ask_person(call.session, asked), tool.name)
        if answer == "no":
            return Verdict(prompts.refused(said))
        if call.session.asked.get(call.key) not in (digest, ""):
            return Verdict(prompts.NOT_WHAT_WAS_ASKED)
        if answer == "unclear":
            problem = said
        elif answer == "edit":
            try:
                args = edited_arguments(tool, call.args, said)
            except ValueError as error:
                problem = str(error)
            else:
                return await asyncio.to_thread(_changed, call, args)
        else:
            if answer == "always":
                await asyncio.to_thread(_keep, rules, call.session)
            return Verdict(rules=() if answer == "once" else rules)


def _changed(call: Call, args: dict[str, Any]) -> Verdict:
    """The call with the person's arguments; their rules hold for it all the same. Blocking."""
    facts = _facts(replace(call, args=args))
    deny = call.session.settings.approve.deny
    if rule := _denying_rule(deny, call.tool.name, facts._replace(accesses=())):
        return Verdict(prompts.denied(rule))
    note = prompts.changed(_shown(args))
    return Verdict(args=args, note=note, accesses=facts.accesses, digest=facts.digest)


def _keep(rules: Sequence[str], session: Session) -> None:
    try:
        approve_rules(session.workspace.root, rules)
    except OSError as error:  # the answer holds for this run
        log.warning("The approval cannot be kept for the folder: %s.", error)


def _rules(tool: BaseTool, subjects: Sequence[str] | None) -> tuple[str, ...]:
    """Return rules about calls like this one; none if no rule can say what it is about."""
    if subjects is None:
        return ()
    scopes = [tool.scope(s) for s in subjects if s] if isinstance(tool, AgentTool) else []
    return tuple(dict.fromkeys(f"{tool.name}({scope})" for scope in scopes)) or (tool.name,)


def _preview(tool: BaseTool, args: dict[str, Any]) -> str:
    own = tool.preview(args) if isinstance(tool, AgentTool) else ""
    return own or "\n".join(f"{name}: {_shown(value)}" for name, value in args.items())


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
