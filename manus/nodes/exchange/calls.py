"""From the calls of an assistant message to the tasks of `act`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, InvalidToolCall

from manus.models.tool_calls import parse_arguments
from manus.nodes.exchange.fingerprint import call_fingerprint
from manus.nodes.exchange.loop_detection import is_refused
from manus.prompts import agent as prompts
from manus.state.agent import Loop, Run, ToolTask
from manus.state.messages import calls_of, ended_at_limit, since, text_of
from manus.state.text import shortened
from manus.tools.terminate import TERMINATE, get_answer

_SHOWN = 300


def to_tasks(
    message: AIMessage,
    special: tuple[str, ...],
    loop: Loop | None = None,
    *,
    wants_answer: bool = False,
) -> list[ToolTask]:
    """One task a call, in call order: those to execute and those to refuse.

    Refused are malformed calls, calls after a special tool, those of a loop that a hint has not
    ended, and a `terminate` without an answer where one is wanted.
    """
    tasks: list[ToolTask] = []
    ending = ""
    cut_off = ended_at_limit(message)
    for index, call in enumerate(calls_of(message)):
        name = call["name"] or ""
        args = call["args"]
        given = args if isinstance(args, dict) else {}
        task = ToolTask(index=index, id=str(call["id"]), name=name, args=given)
        if ending:
            task["refusal"] = prompts.after_special(ending)
        elif not isinstance(args, dict):
            task["refusal"] = explain_malformed(cast(InvalidToolCall, call), cut_off=cut_off)
        elif loop is not None and is_refused(call_fingerprint(name, args), loop):
            task["refusal"] = prompts.loop_refused(loop["what"])
        elif name.lower() == TERMINATE and wants_answer and not get_answer(args):
            task["refusal"] = prompts.ANSWER_WANTED
        if not ending and name.lower() in special:
            ending = name
        tasks.append(task)
    return tasks


def lacks_answer(history: Sequence[AnyMessage], message: AIMessage, run: Run) -> bool:
    """Whether a `terminate` must bring an answer: nothing is said beside it, and it is asked once.

    On the last step it is taken as it is.
    """
    if text_of(message).strip() or run["step"] >= run["max_steps"]:
        return False
    return not any(text_of(m) == prompts.ANSWER_WANTED for m in since(history, run["request_id"]))


def explain_malformed(call: InvalidToolCall, *, cut_off: bool = False) -> str:
    """What is wrong with arguments that are not a JSON object, and what would be right.

    `cut_off`: the reply that they stand in ended at its length limit.
    """
    raw = call["args"] or ""
    try:
        parse_arguments(raw)
        problem = "they are incomplete"
    except ValueError as error:
        problem = str(error)
    wanted = prompts.CALL_CUT_OFF if cut_off else f"{problem}. {prompts.JSON_WANTED}"
    said = f"Not executed: the arguments of `{call['name']}` cannot be read: {wanted}"
    return f"{said} Received: {shortened(raw, _SHOWN)}"
