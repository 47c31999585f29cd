"""A tool that leaves the agent for another node of the graph around it (`graph=Command.PARENT`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.types import Command, Send

from manus.execution.egress_guard import EgressGuard
from manus.execution.foreign_results import with_sibling_answers
from manus.execution.siblings import Sibling
from manus.state.messages import as_messages
from manus.state.taint import passed_on


def parent_command(
    own: Command[Any], calls: Mapping[str, Sibling], guard: EgressGuard
) -> Command[Any]:
    """Return the command with which the calls of a message leave the agent, as one.

    It is that of the first of several `calls` that has one, and else a call's `own`; where all of
    them send tasks to nodes, it sends all tasks. The history that it hands over has an answer to
    each call of the message.
    """
    commands = [call.handoff for call in calls.values() if call.handoff is not None] or [own]
    first = commands[0]
    if len(commands) > 1 and all(_sends(command) for command in commands):
        first = replace(first, goto=[send for command in commands for send in _sends(command)])
    answers = {name: call.message for name, call in calls.items() if call.message is not None}
    update = dict(first._update_as_tuples())
    if "messages" in update:
        update["messages"] = _messages(update["messages"], answers, guard)
    if sends := _sends(first):
        first = replace(first, goto=[_sent(send, answers, guard) for send in sends])
    return replace(first, update=update or None)


def _sends(command: Command[Any]) -> list[Send]:
    """Return the tasks that a command sends; none if it goes to a node by its name."""
    goto: Any = command.goto
    listed = list(goto) if isinstance(goto, list | tuple) else [goto]
    return listed if listed and all(isinstance(item, Send) for item in listed) else []


def _sent(send: Send, answers: Mapping[str, ToolMessage], guard: EgressGuard) -> Send:
    if not isinstance(send.arg, dict) or "messages" not in send.arg:
        return send
    messages = _messages(send.arg["messages"], answers, guard)
    return Send(send.node, {**send.arg, "messages": messages}, timeout=send.timeout)


def _messages(
    messages: Any, answers: Mapping[str, ToolMessage], guard: EgressGuard
) -> list[BaseMessage]:
    """Return the messages that are handed over, complete, and marked where an agent wrote them."""
    return list(_marked(with_sibling_answers(as_messages(messages), answers), guard))


def _marked(messages: Iterable[BaseMessage], guard: EgressGuard) -> Iterable[BaseMessage]:
    for message in messages:
        if isinstance(message, HumanMessage) and message.id is None:
            # written by a tool: the words of an agent name no host for the user
            known = passed_on(guard.words, tainted=guard.is_tainted)
            kwargs = {**message.additional_kwargs, **known}
            yield message.model_copy(update={"additional_kwargs": kwargs})
        else:
            yield message
