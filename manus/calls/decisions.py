"""Questions about a call in the format of chat UIs, and their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt
from pydantic import ValidationError

from manus.calls.base import Arguments, explain_arguments, is_model
from manus.models.tool_calls import parse_arguments
from manus.prompts import approval as prompts
from manus.state.text import read_json
from manus.threads.history import ANSWERS

if TYPE_CHECKING:
    from manus.calls.session import Session

QUESTION = "question"
"""The kind of a question that an agent asks with `ask_human`."""
Answer = Literal["once", "run", "web", "always", "edit", "no", "unclear"]
"""A decision about a call: a yes to this call, to similar ones in this run, to sending anything
anywhere in this run, to similar ones in this folder; other arguments; a no; or none of these."""

_YES = (
    *("yes", "y", "ok", "okay", "approve", "accept", "allow", "once", "yes please", "go ahead"),
    *("do it", "是", "好", "好的", "可以", "同意"),
)
_NO = (
    *("no", "n", "nope", "never", "stop", "cancel", "deny", "refuse", "reject", "decline"),
    *("不", "不要", "不行", "否"),
)
_WORDS: dict[str, Answer] = {
    **dict.fromkeys(_YES, "once"),
    **dict.fromkeys(("run", "r", "yes for this run"), "run"),
    **dict.fromkeys(("web", "w"), "web"),
    **dict.fromkeys(("always", "a", "yes always", "always in this folder"), "always"),
    **dict.fromkeys(_NO, "no"),
}
"""The words that are a decision, each by itself. Whatever else a person writes asks again."""
_EDIT = re.compile(r"^edit\s*(\{.*)", re.IGNORECASE | re.DOTALL)
_REASON = re.compile(r"^(?:no|n|reject|不|不要)\s*[:,：，]\s*(.+)$", re.IGNORECASE | re.DOTALL)
_REJECTS = ("reject", "ignore")
"""Types of decisions of chat UIs that refuse a call, besides the words."""


def hitl_question(
    kind: str, name: str, args: Any, text: str, allowed: Sequence[str], **extra: Any
) -> dict[str, Any]:
    """Build a question in our format and in that of LangChain's human-in-the-loop middleware."""
    return {
        "kind": kind,
        "question": text,
        **extra,
        "action_requests": [{"name": name, "args": args, "description": text}],
        "review_configs": [{"action_name": name, "allowed_decisions": allowed}],
    }


class QuestionSlot:
    """A lock that limits a run to one open question, for UIs whose answers name no question."""

    def __init__(self) -> None:
        self._is_taken = False

    def take(self) -> bool:
        """Take the slot; return False if another question is open."""
        was_used = self._is_taken
        self._is_taken = True
        return not was_used


def ask_person(session: Session, question: dict[str, Any], number: int = 0) -> Any:
    """Return the person's answer to a question.

    `number` counts the earlier answers that were not clear.

    Raises:
        GraphInterrupt: there is no answer yet. The interrupt is empty while another question is
            open; the call asks after that one has been answered.
    """
    slot = session.question_slot
    try:
        return interrupt({**question, ANSWERS: number})
    except GraphInterrupt:
        if slot is None or slot.take():
            raise
        raise GraphInterrupt(()) from None


def single_decision(answer: Any) -> Any:
    """Return the only decision in `{"decisions": [...]}`; return any other answer unchanged."""
    if isinstance(answer, Mapping):
        answer = answer.get("decisions") or answer
    if isinstance(answer, list) and len(answer) == 1:
        return answer[0]
    return answer


def get_message(decision: Mapping[str, Any]) -> str:
    """Return the text that came with a decision."""
    return str(decision.get("message") or decision.get("reason") or "")


def read_answer(
    answer: Any, tool: str = "", scopes: Sequence[str] = ("run", "web", "always")
) -> tuple[Answer, str]:
    """Return a person's decision about a call, and its text.

    The text is the reason for a `no`, the changed arguments of an `edit` as JSON, or, for an
    `unclear` answer, the sentence with which the person is asked again. `scopes` are the lasting
    decisions that the question offers.

    An answer in words is `yes`, `run`, `web`, `always`, `edit {…}`, `no` or `no: REASON`; whatever
    is neither a clear yes nor a clear no decides nothing. An answer as data is
    `{"decisions": [{"type": "approve"}]}`, `{"type": "edit", "edited_action": {"args": {…}}}` or
    `{"type": "reject", "message": "…"}`, in the format of LangChain's middleware; the `"scope"` of
    an approval may be one of the `scopes`.
    """
    answer = single_decision(answer)
    if isinstance(answer, Mapping):
        kind = str(answer.get("type") or answer.get("action")).lower()
        if kind == "edit":
            return _read_edit(answer.get("edited_action"), tool)
        decision = _WORDS.get(kind)
        if decision == "no" or kind in _REJECTS:
            return "no", get_message(answer)
        answer = answer.get("scope") or "yes" if decision == "once" else get_message(answer)
    if isinstance(answer, bool):
        answer = "yes" if answer else "no"
    decision, text = _read_words(answer if isinstance(answer, str) else str(answer))
    if decision in ("run", "web", "always") and decision not in scopes:
        return "unclear", prompts.not_offered(decision)
    return decision, text


def _read_edit(action: Any, tool: str) -> tuple[Answer, str]:
    action = action if isinstance(action, Mapping) else {}
    name = str(action.get("name", tool))
    args = action.get("args")
    if name != tool:
        return "unclear", prompts.other_tool(tool, name)
    if not isinstance(args, Mapping) or not args:
        return "unclear", prompts.NOTHING_TO_EDIT
    return "edit", json.dumps(args)


def _read_words(text: str) -> tuple[Answer, str]:
    text = text.strip()
    if edit := _EDIT.match(text):
        return "edit", edit[1]
    if decision := _WORDS.get(text.lower().rstrip(".!。！")):
        return decision, ""
    if refusal := _REASON.match(text):
        return "no", refusal[1]
    return "unclear", prompts.no_answer(text)


def edited_arguments(tool: BaseTool, args: Mapping[str, Any], edit: str) -> dict[str, Any]:
    """Return the arguments of a call with the changes of an edit.

    `edit` is a JSON object. Null removes an optional argument. A text in place of a number or a
    list is parsed as JSON, since chat UIs edit every argument as text.

    Raises:
        ValueError: it is not a JSON object, or the call would not fit the tool's schema. The
            message is a sentence for the user.
    """
    try:
        changes = parse_arguments(edit)
    except ValueError as error:
        raise ValueError(prompts.bad_edit(str(error))) from None
    if not changes:
        raise ValueError(prompts.NOTHING_TO_EDIT)
    schema = tool.args_schema
    if isinstance(schema, type) and issubclass(schema, Arguments):
        nulls = {name: None for name, value in changes.items() if value is None}
        changes = {**nulls, **schema.tidy(changes)}  # `tidy` drops nulls that mean the default
    edited = dict(args)
    for name, value in changes.items():
        edited[name] = _like(args.get(name), value)
        if edited[name] is None and _is_optional(tool, name):
            del edited[name]
    if problem := _explain_misfit(tool, edited):
        raise ValueError(problem)
    return edited


def _like(old: Any, new: Any) -> Any:
    """Parse a text that replaces another value as JSON, if the result has that value's type."""
    if not isinstance(new, str) or isinstance(old, str | None):
        return new
    try:
        value = read_json(new)
    except ValueError:
        return new
    is_number = isinstance(old, int | float) and isinstance(value, int | float)
    return value if is_number or isinstance(value, type(old)) else new


def _is_optional(tool: BaseTool, name: str) -> bool:
    fields = _argument_names(tool)
    return fields is None or name not in fields.required


class _Fields(NamedTuple):
    names: set[str]
    required: set[str]


def _argument_names(tool: BaseTool) -> _Fields | None:
    """Return the names of a tool's arguments; None if it accepts any."""
    schema: Any = tool.args_schema if isinstance(tool.args_schema, dict) else tool.tool_call_schema
    if is_model(schema):
        if schema.model_config.get("extra") == "allow":
            return None
        schema = schema.model_json_schema()
    names = set(schema.get("properties", {}))
    if not names or schema.get("additionalProperties"):
        return None
    return _Fields(names, set(schema.get("required", ())))


def _explain_misfit(tool: BaseTool, args: dict[str, Any]) -> str:
    """Return why arguments do not fit a tool; empty if they do."""
    schema: Any = tool.args_schema
    if not (is_model(schema) and issubclass(schema, Arguments)):
        fields = _argument_names(tool)
        if fields is not None and (unknown := sorted(set(args) - fields.names)):
            return prompts.unknown_arguments(tool.name, unknown, sorted(fields.names))
        schema = tool.args_schema if isinstance(schema, dict) else tool.tool_call_schema
    if not is_model(schema):
        return ""
    try:
        schema.model_validate(args)
    except ValidationError as error:
        return explain_arguments(tool, error)
    return ""
