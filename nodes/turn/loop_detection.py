"""Whether the agent goes round in circles, told from the history alone.

What is compared is always a call together with what came of it, so that polling whose answer
changes, work through a list and a second look after an edit are left in peace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from manus.state.messages import calls_of, has_calls, text_of

REPEATS = 3
"""How often the same must have happened to count."""
LONGEST_CYCLE = 5
"""In calls."""
SILENT = 3
"""Assistant messages in a row that say nothing and call nothing.

An empty reply is none of them: it is asked for again once, then an error. What is left of a reply
whose calls are not wanted (tool choice `none`) is, and so is what a person writes into a thread.
"""
_SHOWN = 160

Kind = Literal["text", "call", "error", "cycle", "silence"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A circle: its kind, its description for the model, and the calls that go round in it."""

    kind: Kind
    what: str
    calls: tuple[dict[str, Any], ...] = ()


class Event(NamedTuple):
    """One call and what came of it. Two errors of one call are the same, however worded."""

    name: str
    args: Any
    outcome: Any
    is_error: bool

    def same_call(self, other: Event) -> bool:
        """The same tool with the same arguments, whatever the order of their keys."""
        return self.name == other.name and self.args == other.args

    def same(self, other: Event) -> bool:
        """The same call with the same outcome."""
        if not self.same_call(other) or self.is_error != other.is_error:
            return False
        return self.is_error or self.outcome == other.outcome

    @property
    def call(self) -> dict[str, Any]:
        """The call alone."""
        return {"name": self.name, "args": self.args}


class Step(NamedTuple):
    """An assistant message and what came of its calls."""

    message: AIMessage
    events: tuple[Event, ...]

    def same(self, other: Step) -> bool:
        """The same calls, or none, with the same outcomes beside the same text."""
        if len(self.events) != len(other.events):
            return False
        pairs = zip(self.events, other.events, strict=True)
        return all(a.same(b) for a, b in pairs) and _said(self.message) == _said(other.message)


def find_circle(history: Sequence[AnyMessage], duplicate_threshold: int = 2) -> Finding | None:
    """The circle that the newest step belongs to, or None.

    `history` is the run's part of the history; `duplicate_threshold` how many earlier texts like
    the newest make a circle.
    """
    if not _may_go_round(history):
        return None
    steps = list(_steps(history))
    events = [event for step in steps for event in step.events]
    return (
        _silence(steps)
        or _cycle(events)
        or _repeated_call(events, len(steps[-1].events))
        or _repeated_text(steps, duplicate_threshold)
    )


def _may_go_round(history: Sequence[AnyMessage]) -> bool:
    """Whether the newest reply calls nothing, or something for the second time.

    Nearly all others are told apart by this one look, so that a long run does not pay for its
    length at each step.
    """
    said = [message for message in history if isinstance(message, AIMessage)]
    if not said or not has_calls(said[-1]):
        return bool(said)
    own = [(str(call["name"]).lower(), call["args"]) for call in calls_of(said.pop())]
    if any(one in own[:place] for place, one in enumerate(own)):
        return True
    return any(
        call["args"] == args and str(call["name"]).lower() == name
        for message in said
        for call in (*message.tool_calls, *message.invalid_tool_calls)
        for name, args in own
    )


def _silence(steps: list[Step]) -> Finding | None:
    newest = [step.message for step in steps[-SILENT:]]
    if len(newest) < SILENT or any(has_calls(m) or _said(m) for m in newest):
        return None
    return Finding("silence", f"your last {SILENT} replies were empty.")


def _repeated_text(steps: list[Step], threshold: int) -> Finding | None:
    """The newest text often before, beside no calls or the same ones with the same outcomes."""
    newest, text = steps[-1], _said(steps[-1].message)
    if not text or has_calls(newest.message) != bool(newest.events):
        return None
    places = [place for place, step in enumerate(steps) if step.same(newest)]
    if len(places) <= threshold:
        return None
    between = steps[places[-max(2, threshold)] + 1 : -1]
    earlier = [event for step in steps[: len(steps) - 1 - len(between)] for event in step.events]
    if newest.events and _anything_new(earlier, [e for step in between for e in step.events]):
        return None
    calls = tuple(event.call for event in newest.events)
    return Finding("text", f"you have said the same {len(places)} times: “{_short(text)}”.", calls)


def _repeated_call(events: list[Event], newest: int) -> Finding | None:
    """One of the `newest` calls `REPEATS` times with the same outcome, nothing new in between."""
    places = range(len(events) - 1, len(events) - 1 - newest, -1)
    found = (_repeated(events, place) for place in places)
    return next((finding for finding in found if finding is not None), None)


def _repeated(events: list[Event], place: int) -> Finding | None:
    """The call there `REPEATS` times with the same outcome, and nothing new since the second."""
    call = events[place]
    places = [i for i, event in enumerate(events[: place + 1]) if event.same(call)]
    if len(places) < REPEATS:
        return None
    second = places[-(REPEATS - 1)]
    if _anything_new(events[: second + 1], events[second + 1 :]):
        return None
    kind: Kind = "error" if call.is_error else "call"
    came = "failed each time" if call.is_error else "brought the same result each time"
    what = f"{_name_call(call)} was called {len(places)} times and {came}: “{_outcome(call)}”."
    return Finding(kind, what, (call.call,))


def _cycle(events: list[Event]) -> Finding | None:
    for length in range(2, LONGEST_CYCLE + 1):
        if len(events) < length * REPEATS:
            return None
        rounds = events[-length * REPEATS :]
        members = rounds[:length]
        if all(event.same(members[0]) for event in members):
            continue  # one call over and over is not a cycle of several
        if all(event.same(members[i % length]) for i, event in enumerate(rounds)):
            names = ", ".join(_name_call(event) for event in members)
            what = f"the same {length} calls came {REPEATS} times over with the same results: "
            return Finding("cycle", f"{what}{names}.", tuple(event.call for event in members))
    return None


def _anything_new(earlier: Sequence[Event], later: Sequence[Event]) -> bool:
    """Whether a later call brought something not seen before; then there is progress."""
    return any(
        not event.is_error and not any(known.same(event) for known in (*earlier, *later[:place]))
        for place, event in enumerate(later)
    )


def _steps(history: Sequence[AnyMessage]) -> Iterator[Step]:
    answers: dict[str, ToolMessage] = {}
    current: AIMessage | None = None
    for message in history:
        if isinstance(message, AIMessage):
            if current is not None:
                yield Step(current, tuple(_events(current, answers)))
            current, answers = message, {}
        elif isinstance(message, ToolMessage):
            answers[message.tool_call_id] = message
    if current is not None:
        yield Step(current, tuple(_events(current, answers)))


def _events(message: AIMessage, answers: dict[str, ToolMessage]) -> Iterator[Event]:
    for call in calls_of(message):
        answer = answers.get(str(call["id"]))
        if answer is not None:
            name = str(call["name"]).lower()
            yield Event(name, call["args"], answer.content, answer.status == "error")


def _said(message: AIMessage) -> str:
    return text_of(message).strip()


def _name_call(event: Event) -> str:
    return f"`{event.name}` with {_short(str(event.args))}"


def _outcome(event: Event) -> str:
    return _short(event.outcome if isinstance(event.outcome, str) else "an image")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1] + "…"
