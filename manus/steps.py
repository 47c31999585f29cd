"""The steps of a run, read from its state: what was thought, called, and came of it. Pure."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from manus.state.messages import calls_of, text_of
from manus.state.plan import MARKS, Plan
from manus.text import first_line

_TRACEBACK = "Traceback (most recent call last):"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, and the observation; None while there is none."""

    name: str
    args: Any
    observation: str | None = None
    is_error: bool = False

    @property
    def key(self) -> str:
        """What makes two calls the same: tool and arguments, whatever the order of keys."""
        return json.dumps([self.name, self.args], sort_keys=True, default=str)

    @property
    def gist(self) -> str:
        """One line of the observation: its first, or what a traceback ends with."""
        text = self.observation or ""
        if _TRACEBACK in text:
            said = [line for line in text.splitlines() if line[:1] not in ("", " ", "[")]
            return first_line(said[-1])
        return first_line(text)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an agent, or of a plan."""

    number: int
    """From 1 for an agent's, from 0 for a plan's, as they are numbered everywhere."""
    thought: str
    calls: tuple[Call, ...] = ()
    tokens: int = 0
    """Input and output together."""

    @property
    def key(self) -> tuple[str, ...]:
        """What makes two steps the same: their calls, or what is said where nothing is called."""
        return tuple(call.key for call in self.calls) or (self.thought,)


def steps_of(values: Mapping[str, Any]) -> list[Step]:
    """The steps of the newest run in a state of the agent graph, or of the flow graph's plan.

    The run's workspace is written `$workspace` in all texts, so that two runs can be compared.
    Steps that were taken out of a long history are not there; the others keep their numbers.
    """
    plan: Plan | None = values.get("plan") or None
    workspace = str((values.get("run") or {}).get("workspace") or "")
    if plan is not None:
        return list(_of_plan(plan, workspace))
    messages = _newest_run(values)
    first = 1 + len(values.get("earlier") or ())
    thoughts = [place for place, m in enumerate(messages) if isinstance(m, AIMessage)]
    bounds = itertools.pairwise([*thoughts, len(messages)])
    return [
        _step(number, messages[begin:end], workspace)
        for number, (begin, end) in enumerate(bounds, first)
    ]


def step_in(messages: Sequence[AnyMessage], number: int = 1) -> Step | None:
    """The step that a thought and its observations make; None where there is no thought."""
    found = [place for place, message in enumerate(messages) if isinstance(message, AIMessage)]
    return _step(number, messages[found[-1] :], "") if found else None


def _newest_run(values: Mapping[str, Any]) -> list[AnyMessage]:
    """The messages after the request; all of them where it is not known."""
    messages: list[AnyMessage] = values.get("messages") or []
    asked = (values.get("run") or {}).get("request_id")
    places = [i for i, m in enumerate(messages) if isinstance(m, HumanMessage) and m.id == asked]
    return messages[places[-1] + 1 :] if places else messages


def _step(number: int, messages: Sequence[AnyMessage], workspace: str) -> Step:
    said, *rest = messages
    answers = {m.tool_call_id: m for m in rest if isinstance(m, ToolMessage)}
    usage = said.usage_metadata if isinstance(said, AIMessage) else None
    return Step(
        number,
        _neutral(text_of(said).strip(), workspace),
        tuple(_calls(said, answers, workspace)),
        usage["total_tokens"] if usage else 0,
    )


def _calls(said: AnyMessage, answers: Mapping[str, ToolMessage], workspace: str) -> Iterator[Call]:
    for call in calls_of(said) if isinstance(said, AIMessage) else ():
        answer = answers.get(str(call.get("id")))
        yield Call(
            str(call.get("name")),
            _neutral(call.get("args"), workspace),
            None if answer is None else _neutral(text_of(answer), workspace),
            answer is not None and answer.status == "error",
        )


def _of_plan(plan: Plan, workspace: str) -> Iterator[Step]:
    for number, step in enumerate(plan["steps"]):
        result = step["result"]
        came = "\n".join(filter(None, [MARKS[step["status"]], step["notes"]]))
        if result is not None:
            came += f"\n{result['text']}"
        call = Call(
            step["executor"] or "(nobody yet)",
            {"step": step["text"]},
            _neutral(came, workspace),
            step["status"] == "blocked",
        )
        yield Step(number, step["text"], (call,), result["tokens"] if result is not None else 0)


def _neutral(value: Any, workspace: str) -> Any:
    """The value with the workspace's place as a word."""
    if not workspace:
        return value
    if isinstance(value, str):
        return value.replace(workspace, "$workspace")
    if isinstance(value, dict):
        return {name: _neutral(inner, workspace) for name, inner in value.items()}
    if isinstance(value, list):
        return [_neutral(inner, workspace) for inner in value]
    return value
