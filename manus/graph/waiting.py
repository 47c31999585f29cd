"""What a person sends to a thread that waits: an answer, a message, or the end of the wait.

Chat UIs do not always resume a thread that waits. They post the typed text as a new message, with
made-up results for the calls that wait; they name the newest checkpoint, which LangGraph takes for
a fork; and they answer without saying which question they mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph import END
from langgraph.types import Command, Interrupt, PregelTask, StateSnapshot

from manus.execution.approval import APPROVE
from manus.execution.decisions import QUESTION
from manus.execution.journal import Journal
from manus.graph.outcome import is_of_model
from manus.graph.pending_calls import calls_by_task, message_in
from manus.prompts import agent as prompts
from manus.prompts import flow as flow_prompts
from manus.state.messages import (
    as_messages,
    call_ids,
    text_of,
)
from manus.tools.ask_human import ASK_HUMAN

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph

_CHECKPOINT = ("checkpoint_id", "checkpoint_map")


async def meet_wait(
    graph: RunGraph, given: Any, configurable: dict[str, Any], journal: Journal, *, is_request: bool
) -> tuple[Any, dict[str, Any]]:
    """Return the input and the configuration with which a run goes on from where its thread waits.

    A message becomes the answer to what is asked, unless it comes as a `request`: then the calls
    that waited are recorded as not executed. `Command(goto=END)` ends the wait.
    """
    if not isinstance(given, dict | Command) or configurable.get("checkpoint_ns"):
        return given, configurable
    found = await graph.stored_state(configurable)
    if found is None or not found.values:
        return given, configurable
    newest = found.config["configurable"].get("checkpoint_id")
    is_newest = configurable.get("checkpoint_id") in (None, newest)
    at_newest = {k: v for k, v in configurable.items() if k not in _CHECKPOINT}
    questions = [one for one in found.interrupts if not is_of_model(one)]
    if isinstance(given, Command):
        if not is_newest:
            return given, configurable
        if _ends_wait(given) and found.tasks:
            await _end_wait(graph, found, at_newest, journal)
            return None, at_newest
        return _addressed(given, questions), at_newest if questions else configurable
    messages = _without_made_up(given["messages"], found.values.get("messages", []))
    if is_newest and questions and not is_request:
        answer = _answer_in(messages, found.values.get("messages", []), questions)
        if answer is not None:
            return answer, at_newest
    if is_newest:
        messages = [*_open_calls(found, journal, prompts.LEFT_WAITING), *messages]
    return {**given, "messages": messages}, configurable


def _without_made_up(given: Any, history: Sequence[AnyMessage]) -> list[Any]:
    """Drop tool messages for calls that only `act` may answer: those of the thread's own history.

    agent-chat-ui sends "Successfully handled tool call." for each call without a tool message.
    """
    items = given if isinstance(given, list) else [given]
    parsed = [(item, as_messages(item)) for item in items]
    known = {message.id for message in history}
    imported: set[str] = set()  # calls of a history that is imported with this input
    for _, messages in parsed:
        for message in messages:
            if isinstance(message, AIMessage) and (message.id is None or message.id not in known):
                imported.update(call_ids(message))

    def is_kept(message: BaseMessage) -> bool:
        if not isinstance(message, ToolMessage):
            return True
        return message.id in known or message.tool_call_id in imported

    return [item for item, messages in parsed if all(map(is_kept, messages))]


def _answer_in(
    messages: Sequence[Any], history: Sequence[AnyMessage], questions: Sequence[Interrupt]
) -> Command[Any] | None:
    """Return new messages of the user as the answer to the first question; None if there are none.

    Pictures go with the answer to a question of the agent's; a decision about a call has no use for
    them.
    """
    known = {message.id for message in history}
    new = [
        message
        for message in as_messages(list(messages))
        if isinstance(message, HumanMessage) and (message.id is None or message.id not in known)
    ]
    text = "\n".join(filter(None, map(text_of, new))).strip()
    images = [block for message in new for block in _images_in(message)]
    first = questions[0]
    if _kind(first) == QUESTION and images:
        decision = {"type": "respond", "message": text, "images": images}
        return Command(resume={first.id: {"decisions": [decision]}})
    if not text:
        return None
    return Command(resume={first.id: text})


def _images_in(message: BaseMessage) -> list[dict[str, Any]]:
    if isinstance(message.content, str):
        return []
    blocks = (block for block in message.content if isinstance(block, dict))
    return [block for block in blocks if block.get("type") == "image" and "base64" in block]


def _kind(interrupt: Interrupt) -> str:
    return str(interrupt.value.get("kind")) if isinstance(interrupt.value, dict) else ""


def _addressed(command: Command[Any], questions: Sequence[Interrupt]) -> Command[Any]:
    """Return an answer under the id of the question that it is to.

    LangGraph would give one without an id to whichever call asks first.
    """
    resume = command.resume
    is_by_id = isinstance(resume, Mapping) and any(q.id in resume for q in questions)
    if resume is None or len(questions) != 1 or is_by_id:
        return command
    return replace(command, resume={questions[0].id: resume})


def _ends_wait(command: Command[Any]) -> bool:
    goto = command.goto if isinstance(command.goto, list | tuple) else [command.goto]
    return list(goto) == [END] and command.resume is None and not command.update


async def _end_wait(
    graph: RunGraph, found: StateSnapshot, configurable: dict[str, Any], journal: Journal
) -> None:
    """End the run of a thread that waits, as a person's "Mark as Resolved" asks."""
    closed = _open_calls(found, journal, prompts.ENDED_WAITING)
    await graph.write_state(configurable, None, END)  # keeps what has ended, drops what waits
    now = await graph.stored_state(configurable)
    values = now.values if now is not None else {}
    ended: dict[str, Any] = {"status": "idle", "success": False}
    if "executors" in (values.get("run") or {}):  # a flow
        steps = enumerate((values.get("plan") or {"steps": []})["steps"])
        left = [index for index, step in steps if step["status"] == "in_progress"]
        ended |= {"stop_reason": "plan_incomplete", "output": flow_prompts.ENDED_BY_PERSON}
        if left:
            blocked = {"status": "blocked", "notes": flow_prompts.ENDED_BY_PERSON}
            ended["plan"] = [{"step": index, **blocked} for index in left]
            ended["todos"] = dict.fromkeys(left, "pending")
        await graph.write_state(configurable, ended, "summarize")
    else:
        ended |= {"stop_reason": "terminated", "output": prompts.ENDED_BY_PERSON}
        await graph.write_state(configurable, {**ended, "messages": closed}, "stuck_check")


def _open_calls(found: StateSnapshot, journal: Journal, why: prompts.OpenCall) -> list[ToolMessage]:
    """Return the tool messages of calls that a thread is left with while it waits for a person.

    All other calls of the step have ended in order, so one without a trace has not begun.
    """
    pairs = calls_by_task(found)
    if not any(task.interrupts for task, _ in pairs):
        return []
    written: list[ToolMessage] = []
    for task, call in pairs:
        if (message := message_in(task.result)) is not None:
            written.append(message)
        elif journal.look_up(task.id) is None:
            name = str(call["name"])
            call_id = str(call["id"])
            text = why.question if _asks_itself(task, name) else why.approval
            written.append(_not_executed(call_id, name, text))
    return written


def _asks_itself(task: PregelTask, name: str) -> bool:
    """Return whether the tool asks something, and not whether it may be called."""
    return name.lower() == ASK_HUMAN or any(
        _kind(one) != APPROVE or one.value["action_requests"][0]["name"] != name
        for one in task.interrupts
    )


def _not_executed(call_id: str, name: str, text: str) -> ToolMessage:
    return ToolMessage(
        text,
        tool_call_id=call_id,
        name=name,
        status="error",
        id=f"{call_id}:open",
        artifact={"executed": False},
    )
