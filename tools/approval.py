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
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from langchain_core.tools import BaseTool
from langgraph.types import interrupt

from manus.models.tool_calls import arguments_of
from manus.prompts import approval as prompts
from manus.state.approve_settings import ApproveSettings, is_covered, matches
from manus.state.approved import keep_rules
from manus.tools.base import AgentTool
from manus.tools.reach import HOST, Reach
from manus.tools.session import Session

log = logging.getLogger("manus")

APPROVE = "approve"
"""The kind of its question."""
Answer = Literal["once", "run", "always", "edit", "no"]

_WORDS: dict[str, Answer] = {
    **dict.fromkeys(("yes", "y", "ok", "approve", "accept", "once"), "once"),
    **dict.fromkeys(("run", "yes for this run"), "run"),
    **dict.fromkeys(("always", "yes always", "always in this folder"), "always"),
}
_EDIT = re.compile(r"^edit\s*(\{.*)", re.IGNORECASE | re.DOTALL)
_NO = re.compile(r"^\s*(?:no|n|reject)\b[\s:,.!-]*", re.IGNORECASE)


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


@dataclass(frozen=True, slots=True)
class Asked:
    """A call, and whether a person can be asked about it."""

    tool: BaseTool
    args: dict[str, Any]
    read_only: bool
    key: str
    """Of the task that makes it."""
    in_run: bool
    """Outside of a run its caller decides; rules that forbid hold all the same."""


async def judge(call: Asked, approved: Sequence[str], session: Session) -> Verdict:
    """Whether a call may be made, with what a person has `approved` for the run.

    Raises:
        GraphInterrupt: a person is asked.
    """
    tool, settings = call.tool, session.settings.approve
    subjects, why = await asyncio.to_thread(_about, call, session)
    hosts = await asyncio.to_thread(_hosts, call, session.reach)
    about = [(tool.name, subjects), (HOST, hosts)]
    if denied := _denied(about, settings):
        return denied
    known = (*settings.allow, *approved)
    reasons: list[str] = []
    rules: tuple[str, ...] = ()
    if why and not is_covered(known, tool.name, subjects):
        reasons, rules = [why], _rules(tool, subjects)
    if new := [host for host in hosts if session.reach.is_new(host)]:
        reasons.append(prompts.sends(new))
        rules += tuple(f"{HOST}({glob.escape(host)})" for host in new)
    digest = _digest(tool.name, call.args, subjects)
    if session.asked.get(call.key) == digest and not reasons:  # the answer counts all the same
        reasons = [prompts.CHANGES]
    if not (reasons and call.in_run):
        return Verdict()
    preview = await asyncio.to_thread(_preview, tool, call.args)
    text = prompts.question(tool.name, " and ".join(reasons), preview, rules)
    answer, reason = read_answer(
        interrupt(_question(tool.name, call.args, digest, text)), tool.name
    )
    if answer == "no":
        return Verdict(prompts.refused(reason))
    if session.asked.get(call.key) not in (digest, ""):
        return Verdict(prompts.NOT_WHAT_WAS_ASKED)
    if answer == "edit":
        return await asyncio.to_thread(_changed, call, reason, session, tuple(new))
    if answer == "always":
        await asyncio.to_thread(_keep, rules, session)
    return Verdict(rules=() if answer == "once" else rules, hosts=tuple(new))


def _denied(about: list[tuple[str, Sequence[str]]], settings: ApproveSettings) -> Verdict | None:
    found = (r for r in settings.deny for n, s in about if any(matches(r, n, x) for x in s))
    return next((Verdict(prompts.denied(rule)) for rule in found), None)


def _changed(call: Asked, text: str, session: Session, hosts: tuple[str, ...]) -> Verdict:
    """The call with the person's arguments; their rules hold for it all the same. Blocking."""
    try:
        args = arguments_of(text)
    except ValueError as error:
        return Verdict(prompts.refused(f"the changed arguments are no JSON: {error}"))
    subjects, _ = _about(replace(call, args=args), session)
    denied = _denied([(call.tool.name, subjects)], session.settings.approve)
    return denied or Verdict(hosts=hosts, args=args, note=prompts.changed(_shown(args)))


def _about(call: Asked, session: Session) -> tuple[list[str], str]:
    """What rules are matched with, and why a person is asked; empty if there is no need."""
    mode = session.approve_mode
    subjects, why = [""], ""
    if isinstance(call.tool, AgentTool):
        subjects = list(call.tool.subjects(call.args)) or [""]
        why = call.tool.leaves(call.args)
    if mode == "ask" and not call.read_only:
        why = why or prompts.CHANGES
    return subjects, "" if mode == "yolo" else why


def _hosts(call: Asked, reach: Reach) -> tuple[str, ...]:
    """Where the call sends something, or what it starts wanted to when it was made before."""
    own = call.tool.hosts(call.args) if isinstance(call.tool, AgentTool) else ()
    return (*own, *reach.wanted(as_text(call.tool.name, call.args)))


def as_text(name: str, args: dict[str, Any]) -> str:
    """A call, the same for the same."""
    return json.dumps([name, args], sort_keys=True, default=str)


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


def _digest(name: str, args: dict[str, Any], subjects: Sequence[str]) -> str:
    call = json.dumps([name, args, list(subjects)], sort_keys=True, default=str)
    return hashlib.sha256(call.encode("utf-8", "surrogatepass")).hexdigest()


def _question(name: str, args: dict[str, Any], digest: str, text: str) -> dict[str, Any]:
    """The question in our form, and in that of LangChain's human-in-the-loop middleware."""
    allowed = ["approve", "edit", "reject"]
    return {
        "kind": APPROVE,
        "question": text,
        "call": digest,
        "action_requests": [{"name": name, "args": args, "description": text}],
        "review_configs": [{"action_name": name, "allowed_decisions": allowed}],
    }


def read_answer(answer: Any, tool: str = "") -> tuple[Answer, str]:
    """What a person has decided, and why not, or the changed arguments as JSON.

    In words: `yes`, `run`, `always`, `edit {…}`; anything else is a no, with these words as the
    reason. As data `{"decisions": [{"type": "approve"}]}`, `{"type": "edit", "edited_action":
    {"args": {…}}}` or `{"type": "reject", "message": "…"}`, as LangChain's middleware takes them;
    `"scope"` of an approval may be `run` or `always`.
    """
    if isinstance(answer, Mapping):
        answer = answer.get("decisions") or answer
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if isinstance(answer, Mapping):
        kind = str(answer.get("type") or answer.get("action"))
        reason = str(answer.get("message") or answer.get("reason") or "")
        edited = answer.get("edited_action") or {}
        if kind == "edit" and edited.get("args") and edited.get("name", tool) == tool:
            return "edit", json.dumps(edited["args"])
        if _WORDS.get(kind.lower()) != "once":
            return "no", reason
        answer = answer.get("scope") or "yes"
    if isinstance(answer, bool):
        answer = "yes" if answer else "no"
    said = str(answer).strip()
    if changed := _EDIT.match(said):
        return "edit", changed[1]
    decided = _WORDS.get(said.lower().rstrip(".!"))
    return (decided, "") if decided else ("no", _NO.sub("", said))
