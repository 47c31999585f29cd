"""Whether a call may be made: what the person's rules say of it, or the person when asked.

The question is an interrupt, so that it waits in the checkpoint. An answer counts for the call that
the question showed, by a digest of its name, arguments and place; it comes by a resume alone.
"""

from __future__ import annotations

import asyncio
import glob
import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.types import interrupt

from manus.prompts import approval as prompts
from manus.state.agent import ToolTask
from manus.state.safety_settings import is_covered, matches
from manus.state.trust import keep_rules
from manus.tools.base import AgentTool
from manus.tools.decisions import edited_arguments, hitl_question, read_answer
from manus.tools.session import HOST, Resource, Session

log = logging.getLogger("manus")

APPROVE = "approve"
"""The kind of its question."""


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
    """A call may be made unless there is a refusal."""

    refusal: str = ""
    rules: tuple[str, ...] = ()
    """About calls like it that the person has approved with it."""
    hosts: tuple[str, ...] = ()
    """Those that it may send to, with a yes to just that."""
    args: dict[str, Any] | None = None
    """What the person has made of its arguments."""
    note: str = ""
    """What the model is told of that."""
    digest: str = ""
    """Of the call that it is about."""


class _Facts(NamedTuple):
    subjects: Sequence[str]
    """What rules are matched with."""
    why: str
    """Why a person is asked; empty if there is no need."""
    hosts: tuple[str, ...]
    """Where the call sends something, or what it starts wanted to when it was made before."""
    digest: str


async def judge(call: Call) -> Verdict:
    """Whether a call may be made.

    Raises:
        GraphInterrupt: a person is asked.
    """
    name, session = call.tool.name, call.session
    settings, reach = session.settings.approve, session.reach
    facts = await asyncio.to_thread(_facts, call)
    if settings.deny and (rule := _denied(settings.deny, name, facts)):
        return Verdict(prompts.denied(rule))
    reasons: list[str] = []
    rules: tuple[str, ...] = ()
    known = (*settings.allow, *call.task.get("approved", ()))
    if facts.why and not is_covered(known, name, facts.subjects):
        reasons, rules = [facts.why], _rules(call.tool, facts.subjects)
    if new := tuple(host for host in facts.hosts if reach.is_new(host)):
        reasons.append(prompts.sends(new))
        rules += tuple(f"{HOST}({glob.escape(host)})" for host in new)
    if session.asked.get(call.key) == facts.digest and not reasons:
        reasons = [prompts.CHANGES]  # the answer counts all the same
    if not reasons or call.config is None:
        return Verdict(digest=facts.digest)
    verdict = await _ask(call, facts.digest, " and ".join(reasons), rules)
    return verdict if verdict.refusal else replace(verdict, hosts=new, digest=facts.digest)


def _facts(call: Call) -> _Facts:
    """What is to be known of a call. Blocking."""
    mode, tool, args = call.session.approve_mode, call.tool, call.args
    subjects: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    why = ""
    if isinstance(tool, AgentTool):
        subjects, why, hosts = tool.subjects(args), tool.leaves(args), tool.hosts(args)
    if mode == "ask" and not call.read_only:
        why = why or prompts.CHANGES
    shown = json.dumps([tool.name, args, subjects], sort_keys=True, default=str)
    digest = hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
    hosts = (*hosts, *call.session.reach.wanted.get(digest, ()))
    return _Facts(subjects or ("",), "" if mode == "yolo" else why, hosts, digest)


def _denied(rules: Sequence[str], name: str, facts: _Facts) -> str | None:
    """The first rule that forbids a call."""
    about = [(name, s) for s in facts.subjects] + [(HOST, host) for host in facts.hosts]
    return next((rule for rule in rules if any(matches(rule, *pair) for pair in about)), None)


async def _ask(call: Call, digest: str, why: str, rules: tuple[str, ...]) -> Verdict:
    """Ask the person, again while the answer is unclear or an edit does not fit."""
    tool, problem = call.tool, ""
    preview = await asyncio.to_thread(_preview, tool, call.args)
    allowed = ["approve", "edit", "reject"]
    while True:
        subject = prompts.subject(tool.name, why, preview, problem)
        text = prompts.question(subject, rules)
        asked = hitl_question(
            APPROVE, tool.name, call.args, text, allowed, call=digest, subject=subject
        )
        answer, said = read_answer(interrupt(asked), tool.name)
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
    if rule := _denied(deny, call.tool.name, facts._replace(hosts=())):
        return Verdict(prompts.denied(rule))
    return Verdict(args=args, note=prompts.changed(_shown(args)))


def _keep(rules: Sequence[str], session: Session) -> None:
    try:
        keep_rules(session.workspace.root, rules)
    except OSError as error:  # the answer holds for this run
        log.warning("The approval cannot be kept for the folder: %s.", error)


def _rules(tool: BaseTool, subjects: Sequence[str]) -> tuple[str, ...]:
    """Rules about calls like this one."""
    scopes = [tool.scope(s) for s in subjects if s] if isinstance(tool, AgentTool) else []
    return tuple(dict.fromkeys(f"{tool.name}({scope})" for scope in scopes)) or (tool.name,)


def _preview(tool: BaseTool, args: dict[str, Any]) -> str:
    own = tool.preview(args) if isinstance(tool, AgentTool) else ""
    return own or "\n".join(f"{name}: {_shown(value)}" for name, value in args.items())


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
