"""Decide whether a call may be executed: by rules, or by the user's answer to a question.

The question is an interrupt, so it is stored in the checkpoint, and a resume brings the answer. An
answer is valid only for the call in the question, identified by a digest of its name, arguments and
subjects.
"""

from __future__ import annotations

import asyncio
import glob
import hashlib
import itertools
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from manus.calls.base import AgentTool, Approval
from manus.calls.decisions import ask_person, edited_arguments, hitl_question, read_answer
from manus.calls.egress_guard import ANY_HOST, HOST, host_rule
from manus.calls.session import AskedCall, Resource, Session, get_sandbox
from manus.config.safety_settings import is_covered, matches
from manus.config.trust import approve_rules
from manus.prompts import approval as prompts
from manus.state.agent import Refusal, ToolTask
from manus.state.errors import ToolUnavailableError
from manus.state.text import one_line

log = logging.getLogger("manus")

GIT = "git"
"""The rule that allows programs to change repositories; in `deny` it forbids that."""
CALL = "call"
"""The name of rules about exactly one call: `call(DIGEST)`."""
APPROVE = "approve"
"""The kind of the question about a call."""
_MAX_CALL = 200
"""Maximum length of a call in the list of refusals."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and its execution context."""

    tool: BaseTool
    args: dict[str, Any]
    resources: frozenset[Resource]
    read_only: bool
    acts_outside: bool
    """Whether it may have effects outside the workspace, which a rewind cannot take back."""
    task: ToolTask
    key: str
    """The id of its task."""
    session: Session
    config: RunnableConfig | None
    """None outside a run: then the caller decides, but deny rules still apply."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a call, which may be executed unless there is a refusal."""

    refusal: str = ""
    """The message to the model in place of a result."""
    rules: tuple[str, ...] = ()
    """Rules about similar calls that apply until the run ends."""
    hosts: tuple[str, ...] = ()
    """Hosts that the call may send something to."""
    args: dict[str, Any] | None = None
    """Arguments edited by the user."""
    note: str = ""
    """The note for the model about edited arguments."""
    questions: int = 0
    """How many times the user was asked."""
    refused: Refusal | None = None
    """The entry for the run's list of refusals."""


class _CallFacts(NamedTuple):
    """The facts about a call that a decision is based on."""

    subjects: Sequence[str]
    """The texts that deny rules match: everything that the call may affect."""
    allowed_subjects: Sequence[str] | None
    """The texts that allow rules must cover; None if no rule with a pattern can."""
    reason: str
    """Why the call needs approval; empty if it does not."""
    hosts: tuple[str, ...]
    """Hosts to which the call sends something that the model composed."""
    digest: str
    place: str
    changes_git: bool = False
    """Whether its programs may change a repository that existed before the run."""


async def judge(call: Call) -> Verdict:
    """Decide whether a call may be executed.

    Raises:
        GraphInterrupt: the call needs approval.
    """
    session = call.session
    if _is_undisputed(call):
        return Verdict()
    facts = await asyncio.to_thread(_collect_facts, call)
    facts = await _add_sandbox_facts(call, facts)
    rule = _find_denying_rule(session.settings.approve.deny, call.tool.name, facts)
    if rule is not None:
        return Verdict(prompts.denied(rule))
    hosts = _find_unapproved(call, facts)
    reasons, rules = _find_reasons(call, facts, hosts)
    if not reasons or call.config is None:
        return Verdict()
    if _was_approved(call, facts.digest) and not any(map(session.egress_guard.was_refused, hosts)):
        return Verdict(hosts=hosts)
    reason = " and ".join(reasons)
    verdict = _refuse_without_question(call, hosts, reason)
    if verdict is None:
        verdict = await _ask_about(call, facts, reason, rules, hosts)
    if verdict.refusal or verdict.args is not None:
        return verdict
    if prompts.CHANGES_GIT in reasons:  # one answer is valid until the run ends
        verdict = replace(verdict, rules=(*verdict.rules, GIT))
    return replace(verdict, hosts=hosts)


def _was_approved(call: Call, digest: str) -> bool:
    """Return whether the user has approved this call when it could not be executed."""
    rules = (*call.task.get("approved", ()), *call.session.approved)
    return call.key not in call.session.asked and f"{CALL}({digest})" in rules


def _is_undisputed(call: Call) -> bool:
    """Return whether a call needs no decision, since no rule, question or guard applies to it."""
    session = call.session
    approve = session.settings.approve
    if approve.deny or call.key in session.asked:
        return False
    if approve.mode == "ask" and not call.read_only:
        return False
    tool = call.tool
    if not isinstance(tool, AgentTool):
        return True
    return not tool.starts_programs and type(tool).approval is AgentTool.approval


async def _add_sandbox_facts(call: Call, facts: _CallFacts) -> _CallFacts:
    """Add whether a sandbox confines a call's programs, and whether they may change a repository.

    Outside a run the caller decides.
    """
    tool = call.tool
    if call.config is None or not isinstance(tool, AgentTool) or not tool.starts_programs:
        return facts._replace(changes_git=False)
    try:
        sandbox = await get_sandbox(call.session)
    except ToolUnavailableError:  # the call itself will report it
        return facts._replace(changes_git=False)
    is_free = sandbox.kind != "none" or call.session.settings.approve.mode == "yolo"
    changes_git = sandbox.guards_repository and facts.changes_git
    reason = facts.reason if is_free else prompts.UNCONFINED
    return facts._replace(changes_git=changes_git, reason=reason)


def _collect_facts(call: Call) -> _CallFacts:
    """Collect the facts about a call. Blocking."""
    mode = call.session.settings.approve.mode
    tool = call.tool
    args = call.args
    approval = tool.approval(args) if isinstance(tool, AgentTool) else Approval()
    subjects = approval.subjects
    reason = approval.reason
    if mode == "ask" and not call.read_only:
        reason = reason or prompts.CHANGES
    if mode == "yolo":
        reason = ""
    content = json.dumps(
        [tool.name, approval.identity or args, subjects], sort_keys=True, default=str
    )
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return _CallFacts(
        subjects or ("",),
        approval.allowed_subjects if approval.allowed_subjects != () else subjects,
        reason,
        approval.hosts,
        digest,
        approval.place,
        approval.changes_repository,
    )


def _find_unapproved(call: Call, facts: _CallFacts) -> tuple[str, ...]:
    """Return the hosts that the call must not send anything to without approval."""
    needs_approval = call.session.egress_guard.needs_approval
    return tuple(dict.fromkeys(host for host in facts.hosts if needs_approval(host)))


def _find_denying_rule(rules: Sequence[str], name: str, facts: _CallFacts) -> str | None:
    """Return the first rule that denies a call."""
    subjects = [(name, subject) for subject in facts.subjects]
    subjects += [(HOST, host) for host in facts.hosts]
    if facts.changes_git:
        subjects.append((GIT, ""))
    for rule in rules:
        if any(matches(rule, *subject) for subject in subjects):
            return rule
    return None


def _find_reasons(
    call: Call, facts: _CallFacts, hosts: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return why a call needs approval, and the rules that would make that unnecessary."""
    reasons: list[str] = []
    rules: tuple[str, ...] = ()
    session = call.session
    allowed = [*session.settings.approve.allow, *call.task.get("approved", ())]
    if call.key not in session.asked:  # otherwise ask again, since there may be an answer
        allowed += session.approved
    if facts.reason and not is_covered(allowed, call.tool.name, facts.allowed_subjects or [""]):
        reasons.append(facts.reason)
        rules = _suggest_rules(call.tool, facts.allowed_subjects)
    if hosts:
        reasons.append(session.egress_guard.explain(hosts))
        rules += tuple(map(host_rule, hosts))
    is_free = session.settings.approve.mode == "yolo" or is_covered(allowed, GIT, [""])
    asks_git = facts.changes_git and not is_free
    is_covered_command = is_covered(allowed, call.tool.name, facts.allowed_subjects or [""])
    if asks_git and not is_covered_command:
        reasons.append(prompts.CHANGES_GIT)
        rules += (GIT,)
    asked = session.asked.get(call.key, AskedCall())
    has_moved = bool(asked.place) and asked.tool == call.tool.name  # its page may be another now
    if not reasons and (asked.digest == facts.digest or has_moved):
        reasons.append(prompts.CHANGES)  # a question is pending, and its answer still counts
    return reasons, rules


def _refuse_without_question(call: Call, hosts: Sequence[str], reason: str) -> Verdict | None:
    """Refuse a call without a question; return None if the user must be asked."""
    session = call.session
    guard = session.egress_guard
    if refused_before := list(filter(guard.was_refused, hosts)):
        return Verdict(prompts.refused_before(refused_before))
    is_optional = isinstance(call.tool, AgentTool) and call.tool.is_optional
    is_declined = is_optional and not session.settings.interactive
    if session.settings.approve.mode == "refuse" or is_declined:
        refused = build_refusal(call, reason, hosts, "mode")
        return Verdict(prompts.refused_by_mode(reason), refused=refused)
    elsewhere = [host for host in hosts if guard.asking.get(host, call.key) != call.key]
    return Verdict(prompts.asked_elsewhere(elsewhere)) if elsewhere else None


async def _ask_about(
    call: Call, facts: _CallFacts, reason: str, rules: tuple[str, ...], hosts: tuple[str, ...]
) -> Verdict:
    """Ask the user about a call; a refusal of a host is valid until the run ends."""
    guard = call.session.egress_guard
    guard.asking.update(dict.fromkeys(hosts, call.key))
    verdict = await _ask_until_clear(call, facts, reason, rules, hosts)
    # not those of `hosts`: after a resume the call may send to fewer
    for host in [host for host, key in guard.asking.items() if key == call.key]:
        del guard.asking[host]
    return verdict


def build_refusal(
    call: Call, reason: str, hosts: Sequence[str], by: Literal["person", "mode"]
) -> Refusal:
    """Return the entry of a refused call for the run's list of refusals."""
    preview = preview_call(call.tool, call.args)
    return Refusal(
        call=one_line(f"{call.tool.name}: {preview}", _MAX_CALL),
        reason=reason,
        by=by,
        rules=list(map(host_rule, hosts)),
    )


async def _ask_until_clear(
    call: Call, facts: _CallFacts, reason: str, rules: tuple[str, ...], hosts: Sequence[str]
) -> Verdict:
    """Ask the user, and ask again while the answer is unclear or an edit is invalid."""
    tool = call.tool
    problem = ""
    preview = await asyncio.to_thread(preview_call, tool, call.args)
    allowed = ["approve", "edit", "reject"]
    for questions in itertools.count(1):
        subject = prompts.subject(tool.name, reason, preview, problem)
        text = prompts.question(subject, rules, hosts, changes_git=GIT in rules)
        scopes = prompts.scopes(rules, hosts)
        identity = {"call": facts.digest, "place": facts.place, "rules": rules, "subject": subject}
        question = hitl_question(
            APPROVE, tool.name, call.args, text, allowed, scopes=scopes, **identity
        )
        given = ask_person(call.session, question, questions - 1)
        answer, message = read_answer(given, tool.name, scopes)
        asked = call.session.asked.get(call.key, AskedCall("unknown"))
        has_changed = asked.digest not in (facts.digest, "")
        if answer == "no":
            refused = build_refusal(call, reason, hosts, "person")
            return Verdict(prompts.refused(message), refused=refused)
        if answer == "unclear":
            problem = message
        elif answer == "edit" and has_changed:
            problem = prompts.CANNOT_EDIT
        elif answer == "edit":
            try:
                args = edited_arguments(tool, call.args, message)
            except ValueError as error:
                problem = str(error)
            else:
                verdict = await asyncio.to_thread(_approve_edit, call, args)
                return replace(verdict, questions=questions)
        else:
            rules = asked.rules if has_changed else rules
            if answer == "always":
                await asyncio.to_thread(save_rules, rules, call.session)
            lasting = {"once": (), "web": (ANY_HOST,)}.get(answer, rules)
            if has_changed:
                lasting = (*lasting, f"{CALL}({asked.digest})")
                return Verdict(prompts.not_what_was_asked(asked.place), rules=lasting)
            return Verdict(rules=lasting, questions=questions)
    raise AssertionError("unreachable")


def _approve_edit(call: Call, args: dict[str, Any]) -> Verdict:
    """Approve a call with the user's arguments, unless a rule denies it. Blocking."""
    facts = _collect_facts(replace(call, args=args))
    deny = call.session.settings.approve.deny
    if rule := _find_denying_rule(deny, call.tool.name, facts):
        return Verdict(prompts.denied(rule))
    note = prompts.changed(_render_value(args))
    return Verdict(args=args, note=note, hosts=facts.hosts)


def save_rules(rules: Sequence[str], session: Session) -> None:
    """Save approved rules for the folder. Blocking."""
    try:
        approve_rules(session.workspace.root, rules)
    except OSError as error:  # the answer is valid for this run
        log.warning("The approval cannot be saved for the folder: %s.", error)


def _suggest_rules(tool: BaseTool, subjects: Sequence[str] | None) -> tuple[str, ...]:
    """Return rules for calls like this one; empty if no rule can describe it."""
    if subjects is None:
        return ()
    scopes = []
    if isinstance(tool, AgentTool):
        scopes = [glob.escape(subject) for subject in subjects if subject]
    return tuple(dict.fromkeys(f"{tool.name}({scope})" for scope in scopes)) or (tool.name,)


def preview_call(tool: BaseTool, args: dict[str, Any]) -> str:
    """Return what a call will do, for a question. Blocking."""
    if isinstance(tool, AgentTool):
        if preview := tool.preview(args):
            return preview
        if tool.starts_programs and len(args) == 1:  # only the command or the code
            return _render_value(*args.values())
    return "\n".join(f"{name}: {_render_value(value)}" for name, value in args.items())


def _render_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
