"""Turn the calls of an assistant message into tasks of `act`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, InvalidToolCall

from manus.models.tool_calls import parse_arguments
from manus.nodes.loop_detection import call_fingerprint, is_refused
from manus.prompts import agent as prompts
from manus.state.agent import Loop, Run, ToolTask
from manus.state.history import messages_since
from manus.state.messages import (
    get_text,
    list_calls,
)
from manus.state.replies import ended_at_limit
from manus.state.text import shorten
from manus.tools.terminate import TERMINATE, get_answer

_MAX_ARGUMENTS = 300


def to_tasks(
    message: AIMessage,
    special: tuple[str, ...],
    loop: Loop | None = None,
    *,
    wants_answer: bool = False,
) -> list[ToolTask]:
    """Return one task per call, in call order; a task with a `refusal` is not executed.

    Malformed calls are refused, as are calls after a special tool, calls of a loop that a hint did
    not end, and, if `wants_answer`, a `terminate` without an answer.
    """
    tasks: list[ToolTask] = []
    special_call = ""
    is_cut_off = ended_at_limit(message)
    for index, call in enumerate(list_calls(message)):
        name = call["name"] or ""
        arguments = call["args"]
        task = ToolTask(index=index, id=str(call["id"]), name=name, args={})
        if isinstance(arguments, dict):
            task["args"] = arguments
        if special_call:
            task["refusal"] = prompts.after_special(special_call)
        elif not isinstance(arguments, dict):
            task["refusal"] = explain_malformed(cast(InvalidToolCall, call), cut_off=is_cut_off)
        elif loop is not None and is_refused(call_fingerprint(name, arguments), loop):
            task["refusal"] = prompts.loop_refused(loop["what"])
        elif name.lower() == TERMINATE and wants_answer and not get_answer(arguments):
            task["refusal"] = prompts.ANSWER_WANTED
        if not special_call and name.lower() in special:
            special_call = name
        tasks.append(task)
    return tasks


def lacks_answer(history: Sequence[AnyMessage], message: AIMessage, run: Run) -> bool:
    """Return whether `terminate` must include an answer, because the message has no text.

    The model is asked for one once per run, and not on the last step.
    """
    names = [call["name"] or "" for call in list_calls(message)]
    if TERMINATE not in map(str.lower, names):
        return False
    if get_text(message).strip() or run["step"] >= run["max_steps"]:
        return False
    return not any(
        get_text(m) == prompts.ANSWER_WANTED for m in messages_since(history, run["request_id"])
    )


def explain_malformed(call: InvalidToolCall, *, cut_off: bool = False) -> str:
    """Explain why the arguments of a call are not a JSON object, and what is expected.

    `cut_off`: the reply ended at its length limit.
    """
    raw = call["args"] or ""
    try:
        parse_arguments(raw)
        problem = "they are incomplete"
    except ValueError as error:
        problem = str(error)
    advice = f"{problem}. {prompts.JSON_WANTED}"
    if cut_off:
        advice = prompts.CALL_CUT_OFF
    explanation = f"Not executed: the arguments of `{call['name']}` cannot be read: {advice}"
    return f"{explanation} Received: {shorten(raw, _MAX_ARGUMENTS)}"
