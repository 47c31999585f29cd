"""Notes on messages that are taken out: lines under headings, from a model or without one."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from manus.models.tokens import estimate_request, estimate_text, learn_window
from manus.nodes.active_run import ActiveRun
from manus.nodes.context.turns import turns_of, who, whole_text
from manus.nodes.exchange.fingerprint import shown_call
from manus.nodes.exchange.stop_conditions import step_line
from manus.prompts import compaction as prompts
from manus.prompts.compaction import DONE, FILES, FOUND, NEXT, OPEN, WANTED
from manus.prompts.sources import framed
from manus.state.errors import ContextOverflowError, ManusError
from manus.state.messages import calls_of, is_from_user, source_of, text_of
from manus.state.text import one_line

log = logging.getLogger("manus")

ROLE = "summary"
_SHOWN = 4_000
"""Characters of each message that the summarizer sees; the archive has all of them."""
_CHUNK = 30_000
"""Tokens of messages that one request to the summarizer has at most."""
_LEAST_CHUNK = 1_000
_PART = 0.5
"""Part of the summarizer's window that they have at most."""
_BEGIN = 160
"""Characters of a request of an earlier run that the notes quote."""
_TRIES = 2
"""How often a model is asked whose reply holds no notes."""
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_CITATION = re.compile(r"\[\s*#\d+(?:\s*[,;–-]\s*#?\d+)*\s*\]")
_CITED = re.compile(r"(\d+)(?:\s*[–-]\s*#?(\d+))?")
_RANGE = 1_000
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*(?:#+|\*\*)?\s*([A-Za-z ]+?)\s*:?\s*(?:\*\*)?:?\s*")
_NAMES = {name.lower(): name for name in prompts.HEADINGS}
_GIVE_WAY = (DONE, FOUND, FILES, WANTED, OPEN, NEXT)
"""Which lines go first where there is no room for all."""

Notes = dict[str, list[str]]
"""Lines by their heading."""


def parse(lines: Iterable[str]) -> Notes:
    """The lines that begin with a bullet, by heading; those before any are taken for findings."""
    notes: Notes = {name: [] for name in prompts.HEADINGS}
    name = FOUND
    for line in lines:
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            name = _NAMES.get(heading[1].lower(), name)
        elif _BULLET.match(line):
            notes[name].append(line)
    return notes


def as_lines(notes: Notes) -> list[str]:
    """The notes as the history has them: without headings that have nothing, nor a line twice."""
    listed = []
    for name in prompts.HEADINGS:
        if lines := notes[name]:
            listed += [f"## {name}", *dict.fromkeys(lines)]
    return listed


def with_room(notes: Notes, room: float) -> list[str]:
    """As many lines as have so many tokens, the newest of each heading, and one about the rest."""
    dropped = 0
    size = sum(estimate_text(line) + 1 for line in as_lines(notes))
    for name in _GIVE_WAY:
        while notes[name] and size > room:
            size -= estimate_text(notes[name].pop(0)) + 1
            dropped += 1
    lines = as_lines(notes)
    return [prompts.older_left_out(dropped), *lines] if dropped else lines


async def take_notes(
    active_run: ActiveRun,
    request: str,
    before: list[str],
    evicted: Sequence[AnyMessage],
    first: int,
    room: float,
) -> list[str]:
    """The notes there were, and those on messages numbered from `first`, in so many tokens.

    A part for which the model fails has one line a step instead.
    """
    notes = parse(before)
    begin = 0
    while begin < len(evicted):
        # a window that was too small for one part is known at the next
        most = max(_LEAST_CHUNK, min(_CHUNK, _PART * active_run.client.window(ROLE)))
        end = _end_of_chunk(evicted, begin, most)
        part = {first + n: evicted[n] for n in range(begin, end)}
        written = await _written(active_run, request, as_lines(notes), part)
        if written is None:
            notes[DONE] += _without_model(evicted[begin:end], first + begin)
        notes = written or notes
        begin = end
    asked = [(n, m) for n, m in enumerate(evicted, first) if is_from_user(m)]
    notes[WANTED] += [f"- The user said: {one_line(text_of(m), _BEGIN)} [#{n}]" for n, m in asked]
    return with_room(notes, room)


async def _written(
    active_run: ActiveRun, request: str, lines: list[str], part: Mapping[int, AnyMessage]
) -> Notes | None:
    """The notes as the model writes them anew; None if it fails, or says nothing of use twice."""
    words = str(active_run.settings.context.notes_words)
    texts = {n: whole_text(m) for n, m in part.items()}
    shown = [f"[#{n}] {who(m)}: {framed(_ends(texts[n]), source_of(m))}" for n, m in part.items()]
    asked = [
        SystemMessage(prompts.SUMMARIZER.replace("$words", words)),
        HumanMessage(prompts.notes_request(_ends(request), lines, "\n\n".join(shown))),
    ]
    for _ in range(_TRIES):
        try:
            reply = await active_run.client.complete(ROLE, asked, quiet=True)
        except ManusError as error:
            log.info("no notes by the model: %s", error)
            if isinstance(error, ContextOverflowError):
                learn_window(error, estimate_request(asked))
            return None
        notes = checked(text_of(reply.message), texts, lines, request)
        if any(notes.values()):
            return notes
    return None


def checked(
    reply: str, messages: Mapping[int, str], before: Sequence[str] = (), request: str = ""
) -> Notes:
    """The notes of a reply, with the numbers of the messages that its lines come from.

    A line with a number that stands in no message, nor in the request or the notes `before`, is
    made up and goes. A wrong citation is corrected: the line then names as few messages as have its
    numbers, else all. What is open or next is about what is to come, and needs neither.
    """
    known = dict(messages)
    for line in before:
        for number in cited_in(line):
            known[number] = f"{known.get(number, '')} {_CITATION.sub('', line)}"
    numbers = {n: set(_NUMBER.findall(text)) for n, text in known.items()}
    asked = set(_NUMBER.findall(" ".join([request, *before])))
    notes = parse(reply.splitlines())
    for name, lines in notes.items():
        if name in (OPEN, NEXT):
            notes[name] = [f"- {_BULLET.sub('', line).strip()}" for line in lines]
        else:
            said = (_checked(line, numbers, asked, cites=name != WANTED) for line in lines)
            notes[name] = [line for line in said if line]
    return notes


def _checked(
    line: str, numbers: Mapping[int, set[str]], asked: set[str], *, cites: bool = True
) -> str:
    said = _CITATION.sub("", _BULLET.sub("", line)).strip()
    stated = set(_NUMBER.findall(said))
    if not said or not stated <= asked.union(*numbers.values()):
        return ""
    cited = cited_in(line) & numbers.keys()
    if not cited and not cites:
        return f"- {said}"
    lacking = stated.difference(asked, *(numbers[n] for n in cited))
    if lacking:
        cited = {n for n in cited if numbers[n] & stated}
    while lacking:
        best = max(numbers, key=lambda n: len(numbers[n] & lacking))
        cited.add(best)
        lacking -= numbers[best]
    every = f"#{min(numbers)}-#{max(numbers)}"
    return f"- {said} [{', '.join(f'#{n}' for n in sorted(cited)) or every}]"


def cited_in(line: str) -> set[int]:
    """The numbers of the messages that a line names; `#4-#6` are three."""
    cited: set[int] = set()
    for found in _CITATION.findall(line):
        for first, last in _CITED.findall(found):
            begin = int(first)
            end = int(last or first)
            cited.update(range(begin, min(end, begin + _RANGE) + 1))
    return cited


def _without_model(messages: Sequence[AnyMessage], first: int) -> list[str]:
    """One line a step: what was called, and what came of it."""
    lines = []
    for begin, end in turns_of(messages):
        turn = messages[begin:end]
        said = messages[begin]
        calls = calls_of(said) if isinstance(said, AIMessage) else []
        what = ", ".join(shown_call(call["name"] or "", call["args"]) for call in calls)
        line = f"{what}: {step_line(turn)}" if what else step_line(turn)
        lines.append(f"- {line} [#{first + begin}-#{first + end - 1}]")
    return lines


def _end_of_chunk(messages: Sequence[AnyMessage], begin: int, most: float) -> int:
    """The place behind as many messages as have so many tokens, or behind one turn."""
    size = 0.0
    for place in range(begin, len(messages)):
        size += estimate_text(_ends(whole_text(messages[place])))
        if place > begin and size > most and not isinstance(messages[place], ToolMessage):
            return place
    return len(messages)


def _ends(text: str) -> str:
    """The text as the summarizer sees it: its beginning and end where it is long."""
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n[… {len(text) - _SHOWN:,} characters …]\n{text[-half:]}"
