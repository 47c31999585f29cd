"""Detect loops in the trail of recent calls.

A call is always compared together with its result. Polling a changing result, working through a
list, and viewing a file again after an edit are therefore not loops.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage

from manus.prompts import agent as prompts
from manus.prompts.sources import plain
from manus.state.agent import Loop, LoopKind, TrailEntry
from manus.state.messages import (
    call_facts,
    get_text,
    has_calls,
    last_assistant,
    list_calls,
    newest_answers,
)
from manus.state.text import one_line

REPEATS = 3
"""Number of occurrences that make a loop."""
LONGEST_CYCLE = 5
"""Longest cycle, in calls."""
POLLS = 20
"""Number of polls with the same result after which the run ends."""
SLOW = 2.0
"""Seconds that a round must take to count as polling rather than as a loop."""
_MAX_RESULT = 160
"""Characters of the repeated result that are shown to the model."""

_EXACT = frozenset({"old_str", "new_str", "insert_text", "file_text", "code", "content"})
"""Arguments in which white space and letter case are significant."""
_SHELL = frozenset({"command", "cmd"})
_STDERR = re.compile(r"\s*2>&1")
_MAX_ARGUMENTS = 120
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_NOISE = re.compile(
    "|".join(
        (
            r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?",
            rf"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?{_MONTH}\s+\d{{1,2}}\b(?:,?\s+\d{{4}}\b)?",
            rf"\b\d{{1,2}}\s+{_MONTH}\b(?:\s+\d{{4}}\b)?",
            r"\b\d{1,2}/\d{1,2}/\d{2,4}\b",
            r"(?<![\w.:])\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?![\w:])(?:\s?[AaPp][Mm]\b)?",
            r"\b(?:\d+h\s?)?(?:\d+m\s?)?\d+(?:\.\d+)?\s?"
            r"(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?|hours?)\b",
            r"\b(?:pid|process)\W{0,3}\d+\b",
            r"^\[\d+\]\s+\d+$",  # a shell's background job
            r"\b0x[0-9a-fA-F]+\b",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)
"""Dates, clock times, durations, process ids, memory addresses."""


@dataclass(frozen=True, slots=True)
class DetectedLoop:
    """A repetition: its description for the model, and the fingerprints of its calls."""

    kind: LoopKind
    description: str
    calls: tuple[str, ...] = ()
    times: int = REPEATS


@dataclass(frozen=True, slots=True)
class NewestStep:
    """The trail entries of the newest step, and the fingerprints of its refused calls."""

    entries: list[TrailEntry]
    refused: list[str]
    result: str
    """Result of its last call, or its text if it has no calls."""


def newest_step(history: Sequence[AnyMessage], loop: Loop | None, step: int) -> NewestStep:
    """Return the newest assistant message with its results as entries for the trail."""
    message = last_assistant(history)
    if message is None:
        return NewestStep([], [], "")
    if not has_calls(message):
        text = get_text(message)
        entry = TrailEntry(step=step, call="", result=text_fingerprint(text), seconds=0, shown="")
        return NewestStep([entry], [], text)
    answers = {answer.tool_call_id: answer for answer in newest_answers(history)}
    entries: list[TrailEntry] = []
    refused: list[str] = []
    result = ""
    for call in list_calls(message):
        answer = answers.get(str(call["id"]))
        if answer is None:
            continue
        name = call["name"] or ""
        fingerprint = call_fingerprint(name, call["args"])
        if is_refused(fingerprint, loop):
            refused.append(fingerprint)
            continue
        entries.append(_entry(answer, fingerprint, format_call(name, call["args"]), step))
        result = plain(get_text(answer)) or "an image"
    return NewestStep(entries, refused, result)


def is_refused(call: str, loop: Loop | None) -> bool:
    """Return whether the call with this fingerprint is refused because it belongs to a loop."""
    return loop is not None and loop["measure"] == "refuse" and call in loop["calls"]


def _entry(answer: ToolMessage, call: str, label: str, step: int) -> TrailEntry:
    facts = call_facts(answer)
    entry = TrailEntry(
        step=step,
        call=call,
        result=facts.get("fingerprint") or result_fingerprint(answer),
        seconds=facts.get("seconds", 0.0),
        shown=label,
    )
    if answer.status == "error":
        entry["error"] = True
    return entry


def find_loop(
    trail: Sequence[TrailEntry], newest: int, result: str = "", duplicate_threshold: int = 2
) -> DetectedLoop | None:
    """Return the loop that the newest step belongs to, or None.

    The newest step is the last `newest` entries of the trail, and `result` its result.
    `duplicate_threshold` earlier texts that equal the newest one make a loop.
    """
    start = len(trail) - newest
    last_progress = _last_progress(trail)
    if last_progress >= start:
        return None
    for index in reversed(range(start, len(trail))):
        entry = trail[index]
        indexes = _occurrences(trail, index)
        times = _count_repeats(indexes, last_progress)
        required = REPEATS
        if _is_text(entry):
            required = duplicate_threshold + 1
        if times < required:
            continue
        if _is_silent(entry) and not _is_consecutive(indexes[-required:]):
            continue
        between = trail[indexes[-2] + 1 : index + 1]
        if not _is_changing(between):
            return _describe_loop(trail, indexes[-required:], times, result)
    return None


def _last_progress(trail: Sequence[TrailEntry]) -> int:
    """Return the index of the last call with a new result, or -1. Errors are not progress."""
    pairs = [(entry["call"], entry["result"]) for entry in trail]
    for index in reversed(range(len(trail))):
        entry = trail[index]
        is_new = pairs.index(pairs[index]) == index
        if is_new and entry["call"] and not entry.get("error"):
            return index
    return -1


def _occurrences(trail: Sequence[TrailEntry], index: int) -> list[int]:
    """Return the indexes, up to this one, of entries with the same call and result."""
    entry = trail[index]
    indexes = []
    for position, other in enumerate(trail[: index + 1]):
        if other["call"] == entry["call"] and other["result"] == entry["result"]:
            indexes.append(position)
    return indexes


def _count_repeats(indexes: Sequence[int], last_progress: int) -> int:
    """Count the occurrences since the last progress; all earlier ones together count once."""
    recent = sum(index > last_progress for index in indexes)
    has_earlier = indexes[0] <= last_progress
    return recent + has_earlier


def _is_text(entry: TrailEntry) -> bool:
    return not entry["call"] and bool(entry["result"])


def _is_silent(entry: TrailEntry) -> bool:
    return not entry["call"] and not entry["result"]


def _is_consecutive(indexes: Sequence[int]) -> bool:
    return indexes[-1] - indexes[0] == len(indexes) - 1


def _is_changing(between: Sequence[TrailEntry]) -> bool:
    """Return whether a call has a different result each time, such as pages of a carousel."""
    calls = set()
    pairs = set()
    for entry in between:
        if entry["call"]:
            calls.add(entry["call"])
            pairs.add((entry["call"], entry["result"]))
    is_single_or_long = len(calls) == 1 or len(between) > LONGEST_CYCLE
    return len(pairs) > len(calls) and is_single_or_long


def _describe_loop(
    trail: Sequence[TrailEntry], indexes: Sequence[int], times: int, result: str
) -> DetectedLoop:
    """Describe the loop of the entry at these indexes, with the calls between the last two."""
    newest = trail[indexes[-1]]
    quoted = one_line(result, _MAX_RESULT)
    if _is_silent(newest):
        return DetectedLoop("silence", prompts.describe_silent_loop(times), (), times)
    if not newest["call"]:
        return DetectedLoop("text", prompts.describe_text_loop(times, quoted), (), times)
    labels: dict[str, str] = {}
    for entry in trail[indexes[-2] + 1 : indexes[-1] + 1]:
        if entry["call"]:
            labels[entry["call"]] = entry["shown"]
    kind: LoopKind = "call"
    if len(labels) > 1:
        kind = "cycle"
    seconds = sum(entry["seconds"] for entry in trail[indexes[0] + 1 :])
    if seconds >= SLOW * (len(indexes) - 1):
        kind = "polling"
    description = prompts.describe_call_loop(list(labels.values()), times, quoted)
    return DetectedLoop(kind, description, tuple(labels), times)


def next_loop(
    before: Loop | None, detected: DetectedLoop | None, newest: NewestStep, step: int
) -> Loop | None:
    """Return the loop after this step: the next stricter measure while it lasts, otherwise None."""
    if detected is None:
        if before is None or newest.entries or not newest.refused:
            return None
        return _refuse_again(before, newest.refused, step)
    if detected.kind == "polling":
        return _continue_polling(before, detected, step)
    if before is None or before["kind"] == "polling":
        return _loop(detected, "hint", detected.calls, step)
    calls = tuple(dict.fromkeys([*before["calls"], *detected.calls]))
    # without calls there is nothing to refuse
    measure = "refuse" if calls else "ask"
    return _loop(detected, measure, calls, step, before["refused"])


def _continue_polling(before: Loop | None, detected: DetectedLoop, step: int) -> Loop:
    """Return the loop of an agent that polls: a hint once, a question when it polls too often."""
    if detected.times >= POLLS:
        return _loop(detected, "ask", detected.calls, step)
    if before is not None and before["kind"] == "polling":
        return before
    return _loop(detected, "hint", detected.calls, step)


def _refuse_again(before: Loop, refused: Sequence[str], step: int) -> Loop:
    """Return the loop after a step of refused calls only.

    A person is asked once every call of the loop has been refused, or one of them repeatedly.
    """
    earlier = before["refused"]
    are_all_refused = set(earlier).issuperset(before["calls"])
    is_repeated = any(earlier.count(call) >= REPEATS - 1 for call in refused)
    if are_all_refused or is_repeated:
        return {**before, "measure": "ask", "since": step}
    return {**before, "refused": [*earlier, *refused]}


def _loop(
    detected: DetectedLoop,
    measure: str,
    calls: Sequence[str],
    step: int,
    refused: Sequence[str] = (),
) -> Loop:
    return Loop(
        kind=detected.kind,
        what=detected.description,
        measure=measure,  # type: ignore[typeddict-item]
        calls=list(calls),
        refused=list(refused),
        since=step,
    )


def call_fingerprint(name: str, args: Any) -> str:
    """Return the fingerprint of a call.

    White space, letter case, the order of keys, shell comments and `2>&1` are ignored.
    """
    return _digest(json.dumps([name.lower(), _normalize(args)], sort_keys=True, default=str))


def result_fingerprint(message: ToolMessage, state: str | None = None) -> str:
    """Return the fingerprint of a call's result.

    `state`: the resulting state that the tool reports, such as a browser page. It replaces the text
    of the message, except that the text of an error is included.
    """
    text = str(message.text)
    images: Any = ""
    if state is None and not isinstance(message.content, str):
        images = message.content
    if state is not None and message.status == "error":
        text = f"{state}\n{text}"
    elif state is not None:
        text = state
    words = " ".join(hide_noise(text, " ").split())
    return _digest(f"{message.status} {words} {images}")


def hide_noise(text: str, placeholder: str) -> str:
    """Return a text without dates, clock times, durations, process ids and memory addresses."""
    return _NOISE.sub(placeholder, text)


def text_fingerprint(text: str) -> str:
    """Return the fingerprint of an assistant message without calls; empty if it is blank."""
    flat = " ".join(text.split())
    return _digest(flat) if flat else ""


def format_call(name: str, args: Any) -> str:
    """Format a call on one line, its arguments truncated."""
    return f"`{name}` with {one_line(str(args), _MAX_ARGUMENTS)}"


def _normalize(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _normalize(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_normalize(item, key) for item in value]
    if not isinstance(value, str) or key in _EXACT:
        return value
    if key in _SHELL:
        return [_shell_words(value)]
    return " ".join(value.casefold().split())


def _shell_words(command: str) -> list[str]:
    """Split a shell command into words, without comments."""
    bare = _STDERR.sub("", command)
    try:
        return shlex.split(bare, comments=True)
    except ValueError:  # an unclosed quote
        return bare.split()


def _digest(text: str) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
