"""Hand over to another node of the outer graph, for tools that return `graph=Command.PARENT`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.types import Command, Send

from manus.calls.egress_guard import EgressGuard
from manus.calls.foreign_results import with_sibling_answers
from manus.calls.siblings import Sibling
from manus.state.history import as_messages
from manus.state.taint import request_fields


def parent_command(
    own: Command[Any], calls: Mapping[str, Sibling], guard: EgressGuard
) -> Command[Any]:
    """Return the one command with which the calls of a message leave the agent.

    It is the first handoff of the `calls`, or `own` if there is none. If all of them send tasks to
    nodes, it sends all tasks. The history that it hands over has an answer to each call of the
    message.
    """
    commands = [call.handoff for call in calls.values() if call.handoff is not None] or [own]
    first = commands[0]
    tasks = [_sends(command) for command in commands]
    if len(commands) > 1 and all(tasks):
        first = replace(first, goto=list(chain.from_iterable(tasks)))
    answers = {name: call.message for name, call in calls.items() if call.message is not None}
    update = dict(first._update_as_tuples())
    if "messages" in update:
        update["messages"] = _messages(update["messages"], answers, guard)
    sends = _sends(first)
    if sends:
        first = replace(first, goto=[_complete_send(send, answers, guard) for send in sends])
    return replace(first, update=update or None)


def _sends(command: Command[Any]) -> list[Send]:
    """Return the tasks that a command sends; none if it names a node."""
    goto: Any = command.goto
    targets = list(goto) if isinstance(goto, list | tuple) else [goto]
    return targets if all(isinstance(target, Send) for target in targets) else []


def _complete_send(send: Send, answers: Mapping[str, ToolMessage], guard: EgressGuard) -> Send:
    if not isinstance(send.arg, dict) or "messages" not in send.arg:
        return send
    messages = _messages(send.arg["messages"], answers, guard)
    return Send(send.node, {**send.arg, "messages": messages}, timeout=send.timeout)


def _messages(
    messages: Any, answers: Mapping[str, ToolMessage], guard: EgressGuard
) -> list[BaseMessage]:
    """Return the messages to hand over, with all answers, and marked if an agent wrote them."""
    return list(_mark_tainted(with_sibling_answers(as_messages(messages), answers), guard))


def _mark_tainted(messages: Iterable[BaseMessage], guard: EgressGuard) -> Iterable[BaseMessage]:
    for message in messages:
        if isinstance(message, HumanMessage) and message.id is None:
            # written by a tool: an agent's text must not allow hosts on the user's behalf
            taint = request_fields(guard.words, guard.exposure)
            kwargs = {**message.additional_kwargs, **taint}
            yield message.model_copy(update={"additional_kwargs": kwargs})
        else:
            yield message
