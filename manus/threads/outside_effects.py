"""List the effects of calls that a rewind cannot undo, because they are outside the workspace.

Such effects are mail, posts on the web, calls to MCP servers, and commands that have used the
network. Each call is marked when it is executed (`manus.calls.call`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from manus.prompts.formatting import main_argument
from manus.state.messages import list_calls
from manus.threads.history import CONTINUES, ROOT, History, Superstep
from manus.threads.journal import Journal

OUTSIDE_EFFECT = "outside_effect"
"""Marks the message of a call; the value is `True`, or `UNCERTAIN` after an interruption."""
UNCERTAIN = "uncertain"


class OutsideEffect(NamedTuple):
    """A call with an effect outside the workspace."""

    tool: str
    arguments: Mapping[str, Any]
    is_certain: bool
    """False if the call was interrupted or has failed, so that its effect is unknown."""

    def __str__(self) -> str:
        """Return the tool and its main argument, on one line."""
        text = f"{self.tool}: {main_argument(dict(self.arguments))}".removesuffix(": ")
        return text if self.is_certain else f"{text} (it may have had no effect)"


def list_outside_effects(
    history: History, checkpoint: str, open_journal: Callable[[str], Journal]
) -> list[OutsideEffect]:
    """Return the effects of the calls since a checkpoint of the main graph, in order. Blocking.

    `open_journal` returns the journal of a namespace, for calls that were interrupted.
    """
    root = history.get(ROOT, [])
    ids = [superstep.id for superstep in root]
    if checkpoint not in ids:
        return []
    effects: list[OutsideEffect] = []
    for namespace, supersteps in _later(history, root[ids.index(checkpoint) :]):
        messages = [message for superstep in supersteps for message in superstep.messages]
        effects += _list_marked(messages)
        if open_calls := _list_unanswered(messages):
            effects += _list_interrupted(open_calls, open_journal(namespace))
    return effects


def _later(
    history: History, root: Sequence[Superstep]
) -> Iterator[tuple[str, Sequence[Superstep]]]:
    """Yield these supersteps, and those of the subgraphs that they or their subgraphs started."""
    yield ROOT, root
    started = {superstep.id for superstep in root}
    for superstep in root:
        started.update(superstep.metadata.get(CONTINUES, ()))
    for namespace in sorted(history.keys() - {ROOT}, key=lambda name: name.count("|")):
        supersteps = history[namespace]
        parents = supersteps[0].metadata.get("parents") or {}
        if parents.get(namespace.rpartition("|")[0]) in started:
            started.update(superstep.id for superstep in supersteps)
            yield namespace, supersteps


def _calls(messages: Iterable[BaseMessage]) -> dict[str, Any]:
    """Return the calls of messages by id."""
    calls: dict[str, Any] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            calls.update((str(call["id"]), call) for call in list_calls(message))
    return calls


def _list_marked(messages: Sequence[BaseMessage]) -> Iterator[OutsideEffect]:
    calls = _calls(messages)
    for message in {str(message.id): message for message in messages}.values():
        if isinstance(message, ToolMessage) and OUTSIDE_EFFECT in message.additional_kwargs:
            call = calls.get(message.tool_call_id)
            arguments = call["args"] if call is not None else {}
            is_certain = message.additional_kwargs[OUTSIDE_EFFECT] is True
            yield OutsideEffect(str(message.name), arguments, is_certain)


def _list_unanswered(messages: Sequence[BaseMessage]) -> list[Any]:
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    return [call for key, call in _calls(messages).items() if key not in answered]


def _list_interrupted(calls: Sequence[Any], journal: Journal) -> Iterator[OutsideEffect]:
    """Yield the effects of calls that had started when the process died."""
    journal.open()
    journal.close()
    started_tools = {claim.tool for claim in journal.unfinished.values() if claim.acts_outside}
    for call in calls:
        answer = journal.answer_to(call["id"])
        if answer is None and call["name"] in started_tools:
            yield OutsideEffect(call["name"], call["args"], is_certain=False)
        elif answer is not None and OUTSIDE_EFFECT in answer.additional_kwargs:
            is_certain = answer.additional_kwargs[OUTSIDE_EFFECT] is True
            yield OutsideEffect(call["name"], call["args"], is_certain)
