"""Handle what a person sends to a waiting thread: an answer, a message, or the end of the wait.

Chat UIs do not always resume a waiting thread. They post the typed text as a new message, with
invented results for the waiting calls; they name the newest checkpoint, which LangGraph treats as a
fork; and they answer without naming the question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph import END
from langgraph.types import Command, Interrupt, PregelTask, StateSnapshot

from manus.calls.approval import APPROVE
from manus.calls.decisions import QUESTION
from manus.graph.outcome import is_for_model_server
from manus.graph.pending_calls import calls_by_task, message_in
from manus.prompts import agent as prompts
from manus.prompts import flow as flow_prompts
from manus.state.history import as_messages, close_history
from manus.state.messages import call_ids, get_text
from manus.threads.history import INTERRUPT
from manus.threads.journal import Journal
from manus.threads.records.select import CHECKPOINTER
from manus.tools.ask_human import ASK_HUMAN

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph

CHECKPOINT = ("checkpoint_id", "checkpoint_map")
"""Keys of the configuration that address a checkpoint."""


async def handle_waiting(
    graph: RunGraph[Any],
    graph_input: Any,
    configurable: dict[str, Any],
    journal: Journal,
    *,
    is_request: bool,
) -> tuple[Any, dict[str, Any]]:
    """Return the input and the configuration with which a run continues a waiting thread.

    A message becomes the answer to the question, unless it comes as a `request`: then the waiting
    calls are recorded as not executed. `Command(goto=END)` ends the wait.
    """
    if not isinstance(graph_input, dict | Command) or configurable.get("checkpoint_ns"):
        return graph_input, configurable
    if isinstance(graph_input, dict) and await _is_plain(graph, graph_input, configurable):
        return graph_input, configurable
    snapshot = await graph.stored_state(configurable)
    if snapshot is None or not snapshot.values:
        return graph_input, configurable
    newest = snapshot.config["configurable"].get("checkpoint_id")
    is_newest = configurable.get("checkpoint_id") in (None, newest)
    at_newest = {key: value for key, value in configurable.items() if key not in CHECKPOINT}
    questions = [
        interrupt for interrupt in snapshot.interrupts if not is_for_model_server(interrupt)
    ]
    if isinstance(graph_input, Command):
        if not is_newest:
            return graph_input, configurable
        if _ends_wait(graph_input) and snapshot.tasks:
            await _end_wait(graph, snapshot, at_newest, journal)
            return None, at_newest
        command = _address_answer(graph_input, questions)
        return command, at_newest if questions else configurable
    history = snapshot.values.get("messages", [])
    messages = _drop_invented(graph_input["messages"], history)
    if is_newest and questions and not is_request:
        answer = _find_answer(messages, history, questions)
        if answer is not None:
            return answer, at_newest
    if is_newest:
        messages = [*_close_calls(snapshot, journal, prompts.LEFT_WAITING), *messages]
    return {**graph_input, "messages": messages}, configurable


async def _is_plain(
    graph: RunGraph[Any], graph_input: dict[str, Any], configurable: dict[str, Any]
) -> bool:
    """Return whether the input has no results of calls and the thread no question.

    Only the newest checkpoint is read, not the history.
    """
    items = graph_input["messages"]
    messages = chain.from_iterable(map(as_messages, items if isinstance(items, list) else [items]))
    if any(isinstance(message, ToolMessage) for message in messages):
        return False
    stored = await read_newest(graph, configurable)
    writes = stored.pending_writes if stored is not None else None
    return not any(channel == INTERRUPT for _, channel, _ in writes or ())


async def read_newest(graph: RunGraph[Any], configurable: dict[str, Any]) -> CheckpointTuple | None:
    """Return the newest checkpoint of a thread, without its history; None if there is none."""
    saver = configurable.get(CHECKPOINTER, graph.checkpointer)
    if not isinstance(saver, BaseCheckpointSaver):
        return None
    names = configurable.keys() & {"thread_id", "checkpoint_ns"}
    return await saver.aget_tuple({"configurable": {name: configurable[name] for name in names}})


def _drop_invented(messages: Any, history: Sequence[AnyMessage]) -> list[Any]:
    """Drop tool messages for calls that only `act` may answer: those of the thread's own history.

    agent-chat-ui sends "Successfully handled tool call." for each call without a tool message.
    """
    items = messages if isinstance(messages, list) else [messages]
    existing_ids = {message.id for message in history}
    imported = _imported_calls(items, existing_ids)

    def is_valid(message: BaseMessage) -> bool:
        if not isinstance(message, ToolMessage):
            return True
        return message.id in existing_ids or message.tool_call_id in imported

    return [item for item in items if all(map(is_valid, as_messages(item)))]


def _imported_calls(items: Sequence[Any], existing_ids: Collection[str | None]) -> set[str]:
    """Return the ids of calls in a history that the input contains."""
    imported: set[str] = set()
    for message in chain.from_iterable(map(as_messages, items)):
        is_new = message.id is None or message.id not in existing_ids
        if isinstance(message, AIMessage) and is_new:
            imported.update(call_ids(message))
    return imported


def _find_answer(
    messages: Sequence[Any], history: Sequence[AnyMessage], questions: Sequence[Interrupt]
) -> Command[Any] | None:
    """Return new user messages as the answer to the first question, or None.

    Images are part of the answer to a question of the agent, but not of a decision about a call.
    """
    existing_ids = {message.id for message in history}
    texts: list[str] = []
    images: list[dict[str, Any]] = []
    for message in as_messages(list(messages)):
        is_new = message.id is None or message.id not in existing_ids
        if isinstance(message, HumanMessage) and is_new:
            texts.append(get_text(message))
            images += _images_in(message)
    text = "\n".join(filter(None, texts)).strip()
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
    images = []
    for block in message.content:
        if isinstance(block, dict) and block.get("type") == "image" and "base64" in block:
            images.append(block)
    return images


def _kind(interrupt: Interrupt) -> str:
    return str(interrupt.value.get("kind")) if isinstance(interrupt.value, dict) else ""


def _address_answer(command: Command[Any], questions: Sequence[Interrupt]) -> Command[Any]:
    """Return a command whose answer names the question.

    LangGraph would give an answer without an id to whichever call asks first.
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
    graph: RunGraph[Any], snapshot: StateSnapshot, configurable: dict[str, Any], journal: Journal
) -> None:
    """End the run of a waiting thread, as requested by a person's "Mark as Resolved"."""
    answers = _close_calls(snapshot, journal, prompts.ENDED_WAITING)
    await graph.write_state(configurable, None, END)  # keeps finished tasks, drops waiting ones
    current = await graph.stored_state(configurable)
    values = current.values if current is not None else {}
    history: list[AnyMessage] = values.get("messages", [])
    end: dict[str, Any] = {"status": "idle", "success": False}
    if "executors" in (values.get("run") or {}):  # a flow
        end |= {"stop_reason": "plan_incomplete", "output": flow_prompts.ENDED_BY_PERSON}
        end |= _block_steps(values.get("plan") or {"steps": []})
        end["messages"] = close_history(history, end["output"])
        await graph.write_state(configurable, end, "summarize")
    else:
        end |= {"stop_reason": "terminated", "output": prompts.ENDED_BY_PERSON}
        end["messages"] = [*answers, *close_history([*history, *answers], end["output"])]
        await graph.write_state(configurable, end, "stuck_check")


def _block_steps(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the update that marks the steps in progress as blocked; empty if there are none."""
    changes = []
    todos = {}
    for index, step in enumerate(plan["steps"]):
        if step["status"] == "in_progress":
            notes = flow_prompts.ENDED_BY_PERSON
            changes.append({"step": index, "status": "blocked", "notes": notes})
            todos[index] = "pending"
    if not changes:
        return {}
    return {"plan": changes, "todos": todos}


def _close_calls(
    snapshot: StateSnapshot, journal: Journal, reason: prompts.OpenCall
) -> list[ToolMessage]:
    """Return the tool messages that close the calls of a thread that waits for a person.

    All other calls of the step have ended in order, so one without a record has not started.
    """
    pairs = calls_by_task(snapshot)
    if not any(task.interrupts for task, _ in pairs):
        return []
    answers: list[ToolMessage] = []
    for task, call in pairs:
        message = message_in(task.result)
        if message is not None:
            answers.append(message)
        elif journal.look_up(task.id) is None:
            name = str(call["name"])
            text = reason.question if _asks_itself(task, name) else reason.approval
            answers.append(_not_executed(str(call["id"]), name, text))
    return answers


def _asks_itself(task: PregelTask, name: str) -> bool:
    """Return whether the tool itself asks, rather than the approval of its call."""
    if name.lower() == ASK_HUMAN:
        return True
    for interrupt in task.interrupts:
        if _kind(interrupt) != APPROVE:
            return True
        if interrupt.value["action_requests"][0]["name"] != name:
            return True
    return False


def _not_executed(call_id: str, name: str, text: str) -> ToolMessage:
    return ToolMessage(
        text,
        tool_call_id=call_id,
        name=name,
        status="error",
        id=f"{call_id}:open",
        artifact={"executed": False},
    )
