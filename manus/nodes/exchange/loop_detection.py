"""Whether the agent is stuck in a loop, told from a short trail of its calls.

A call is always compared together with what came of it. So a poll whose answer changes, work
through a list, and a second look after an edit are no loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AnyMessage, ToolMessage

from manus.nodes.exchange.fingerprint import (
    call_fingerprint,
    result_fingerprint,
    shown_call,
    text_fingerprint,
)
from manus.prompts import agent as prompts
from manus.prompts.sources import plain
from manus.state.agent import Loop, LoopKind, TrailEntry
from manus.state.messages import (
    call_facts,
    calls_of,
    has_calls,
    last_assistant,
    newest_answers,
    text_of,
)
from manus.state.text import one_line

REPEATS = 3
"""How often the same must have happened to count."""
LONGEST_CYCLE = 5
"""In calls."""
POLLS = 20
"""How often a poll may bring the same before the run ends for it."""
SLOW = 2.0
"""Seconds a round must take to be a poll rather than a loop."""
_SAID = 160
"""Characters of what came of it that the model is told."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What repeats, in words for the model, and the fingerprints of its calls."""

    kind: LoopKind
    what: str
    calls: tuple[str, ...] = ()
    times: int = REPEATS


@dataclass(frozen=True, slots=True)
class NewestStep:
    """The newest step as the trail has it; `refused` are its calls that the loop refused."""

    entries: list[TrailEntry]
    refused: list[str]
    outcome: str
    """What came of its last call, or its text."""


def newest_step(history: Sequence[AnyMessage], loop: Loop | None, step: int) -> NewestStep:
    """The trail's entries for the newest assistant message, and what was refused of it."""
    message = last_assistant(history)
    if message is None:
        return NewestStep([], [], "")
    if not has_calls(message):
        said = text_of(message)
        entry = TrailEntry(step=step, call="", result=text_fingerprint(said), seconds=0, shown="")
        return NewestStep([entry], [], said)
    by_id = {answer.tool_call_id: answer for answer in newest_answers(history)}
    entries: list[TrailEntry] = []
    refused: list[str] = []
    outcome = ""
    for call in calls_of(message):
        answer = by_id.get(str(call["id"]))
        if answer is None:
            continue
        print_ = call_fingerprint(call["name"] or "", call["args"])
        if is_refused(print_, loop):
            refused.append(print_)
            continue
        entries.append(_entry(answer, print_, shown_call(call["name"] or "", call["args"]), step))
        outcome = plain(text_of(answer)) or "an image"
    return NewestStep(entries, refused, outcome)


def is_refused(call: str, loop: Loop | None) -> bool:
    """Whether a call, by its fingerprint, is refused for the loop it belongs to."""
    return loop is not None and loop["measure"] == "refuse" and call in loop["calls"]


def _entry(answer: ToolMessage, call: str, shown: str, step: int) -> TrailEntry:
    kept = call_facts(answer)
    entry = TrailEntry(
        step=step,
        call=call,
        result=kept.get("fingerprint") or result_fingerprint(answer),
        seconds=kept.get("seconds", 0.0),
        shown=shown,
    )
    if answer.status == "error":
        entry["error"] = True
    return entry


def find_loop(
    trail: Sequence[TrailEntry], newest: int, outcome: str = "", duplicate_threshold: int = 2
) -> Finding | None:
    """The loop that the newest step, the last `newest` entries of the trail, belongs to.

    `outcome` is what came of it; `duplicate_threshold` how many earlier texts like the newest
    make a loop.
    """
    new = _last_new(trail)
    if new >= len(trail) - newest:
        return None
    for place in range(len(trail) - 1, len(trail) - 1 - newest, -1):
        is_text = not trail[place]["call"] and trail[place]["result"]
        needed = duplicate_threshold + 1 if is_text else REPEATS
        places = [i for i in range(place + 1) if _same(trail[i], trail[place])]
        times = sum(i > new for i in places) + any(i <= new for i in places)
        if times < needed or (_is_silent(trail[place]) and places[-needed] != place - needed + 1):
            continue
        if _is_changing(trail[places[-2] + 1 : place + 1]):
            continue
        return _finding(trail, places[-needed:], times, outcome)
    return None


def _last_new(trail: Sequence[TrailEntry]) -> int:
    """The place of the last call that brought something not seen before; an error brings none."""
    seen: set[tuple[str, str]] = set()
    last = -1
    for place, entry in enumerate(trail):
        pair = (entry["call"], entry["result"])
        if entry["call"] and pair not in seen and not entry.get("error"):
            last = place
        seen.add(pair)
    return last


def _same(one: TrailEntry, other: TrailEntry) -> bool:
    return one["call"] == other["call"] and one["result"] == other["result"]


def _is_changing(between: Sequence[TrailEntry]) -> bool:
    """Whether one call brings something else each time: a carousel that comes round again."""
    pairs = {(entry["call"], entry["result"]) for entry in between if entry["call"]}
    calls = {entry["call"] for entry in between if entry["call"]}
    return len(pairs) > len(calls) and (len(calls) == 1 or len(between) > LONGEST_CYCLE)


def _is_silent(entry: TrailEntry) -> bool:
    return not entry["call"] and not entry["result"]


def _finding(
    trail: Sequence[TrailEntry], places: Sequence[int], times: int, outcome: str
) -> Finding:
    """What to say of the entry at these places, and of the calls between the last two."""
    newest = trail[places[-1]]
    said = one_line(outcome, _SAID)
    if _is_silent(newest):
        return Finding("silence", prompts.loop_of_silence(times), (), times)
    if not newest["call"]:
        return Finding("text", prompts.loop_of_text(times, said), (), times)
    between = trail[places[-2] + 1 : places[-1] + 1]
    members = {entry["call"]: entry["shown"] for entry in between if entry["call"]}
    what = prompts.loop_of_calls(list(members.values()), times, said)
    waited = sum(entry["seconds"] for entry in trail[places[0] + 1 :])
    if waited >= SLOW * (len(places) - 1):
        return Finding("polling", what, tuple(members), times)
    return Finding("cycle" if len(members) > 1 else "call", what, tuple(members), times)


def next_loop(
    before: Loop | None, finding: Finding | None, newest: NewestStep, step: int
) -> Loop | None:
    """The loop after this step: one measure further while it lasts, None once it is left."""
    if finding is None:
        if before is None or newest.entries or not newest.refused:
            return None
        return _refused_again(before, newest.refused, step)
    if finding.kind == "polling":
        is_over = finding.times >= POLLS
        if before is not None and before["kind"] == "polling" and not is_over:
            return before
        return _loop(finding, "ask" if is_over else "hint", finding.calls, step)
    if before is None or before["kind"] == "polling":
        return _loop(finding, "hint", finding.calls, step)
    # where nothing is called there is nothing to refuse
    calls = tuple(dict.fromkeys([*before["calls"], *finding.calls]))
    return _loop(finding, "refuse" if calls else "ask", calls, step, before["refused"])


def _refused_again(before: Loop, refused: Sequence[str], step: int) -> Loop:
    """Nothing but refused calls: asked about once each was refused, and one of them again."""
    told = before["refused"]
    is_told = set(told).issuperset(before["calls"])
    is_deaf = any(told.count(call) >= REPEATS - 1 for call in refused)
    if is_told or is_deaf:
        return {**before, "measure": "ask", "since": step}
    return {**before, "refused": [*told, *refused]}


def _loop(
    finding: Finding, measure: str, calls: Sequence[str], step: int, refused: Sequence[str] = ()
) -> Loop:
    return Loop(
        kind=finding.kind,
        what=finding.what,
        measure=measure,  # type: ignore[typeddict-item]
        calls=list(calls),
        refused=list(refused),
        since=step,
    )
