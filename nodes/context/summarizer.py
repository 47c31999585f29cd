"""Taking notes of messages that are taken out: by a model, checked, or without one."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.config import get_stream_writer

from manus.models.tokens import estimate_request, estimate_text
from manus.nodes.active_run import Running
from manus.nodes.context.turns import turns_of, who, whole_text
from manus.nodes.turn.stop_conditions import step_line
from manus.prompts import compaction as prompts
from manus.prompts.sources import framed
from manus.state.errors import ContextOverflowError, ManusError
from manus.state.messages import source_of, text_of

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
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_CITATION = re.compile(r"\[\s*#\d+(?:\s*[,;–-]\s*#?\d+)*\s*\]")
_CITED = re.compile(r"(\d+)(?:\s*[–-]\s*#?(\d+))?")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_RANGE = 1_000


async def take_notes(
    running: Running,
    before: list[str],
    evicted: Sequence[AnyMessage],
    first: int,
    room: float,
) -> list[str]:
    """The notes there were, and those on messages numbered from `first`, in so many tokens.

    A part for which the model fails has one line a step instead.
    """
    lines, begin = before, 0
    most = max(_LEAST_CHUNK, min(_CHUNK, _PART * running.client.window(ROLE).size))
    while begin < len(evicted):
        end = _end_of_chunk(evicted, begin, most)
        part = {first + n: evicted[n] for n in range(begin, end)}
        try:
            written = await _written(running, lines, part)
        except ContextOverflowError:
            if most > _LEAST_CHUNK:
                most = max(_LEAST_CHUNK, most / 2)
                continue
            written = []
        lines = written or [*lines, *_without_model(evicted[begin:end], first + begin)]
        begin = end
    asked = [(n, m) for n, m in enumerate(evicted, first) if isinstance(m, HumanMessage)]
    lines += [f"- The user said: {_begin(text_of(m))} [#{n}]" for n, m in asked]
    return _newest(lines, room)


async def _written(running: Running, lines: list[str], part: Mapping[int, AnyMessage]) -> list[str]:
    """The notes as the model writes them anew; none if it fails.

    Raises:
        ContextOverflowError: the question is too large.
    """
    words = str(running.settings.context.notes_words)
    shown = "\n\n".join(_with_head(n, m) for n, m in part.items())
    question = prompts.notes_request(lines, shown)
    request = [
        SystemMessage(prompts.SUMMARIZER.replace("$words", words)),
        HumanMessage(question),
    ]
    try:
        tell = get_stream_writer()
        reply = await running.client.complete(ROLE, request, tell=tell, quiet=True)
    except ContextOverflowError as error:
        running.client.learn_window(ROLE, error, estimate_request(request))
        raise
    except ManusError as error:
        log.info("no notes by the model: %s", error)
        return []
    texts = {n: whole_text(m) for n, m in part.items()}
    return checked(text_of(reply.message), texts, lines)


def checked(reply: str, messages: Mapping[int, str], before: Sequence[str] = ()) -> list[str]:
    """The notes of a reply: one line each, with the numbers of the messages they come from.

    A line with a number that stands in no message, nor in the notes `before`, is made up and goes.
    A wrong citation is corrected: the line then names the messages with its numbers, else all.
    """
    known = dict(messages)
    for line in before:
        for number in cited_in(line):
            known[number] = f"{known.get(number, '')} {_CITATION.sub('', line)}"
    numbers = {n: set(_NUMBER.findall(text)) for n, text in known.items()}
    found = (_checked(line, numbers) for line in reply.splitlines() if _BULLET.match(line))
    return list(dict.fromkeys(line for line in found if line))


def _checked(line: str, numbers: Mapping[int, set[str]]) -> str:
    said = _CITATION.sub("", _BULLET.sub("", line)).strip()
    stated = set(_NUMBER.findall(said))
    if not said or not stated <= set().union(*numbers.values()):
        return ""
    cited = sorted(cited_in(line) & numbers.keys())
    if not cited or not stated <= set().union(*(numbers[n] for n in cited)):
        cited = sorted(n for n, held in numbers.items() if stated & held)
    every = f"#{min(numbers)}-#{max(numbers)}"
    return f"- {said} [{', '.join(f'#{n}' for n in cited) or every}]"


def cited_in(line: str) -> set[int]:
    """The numbers of the messages that a line names; `#4-#6` are three."""
    cited: set[int] = set()
    for found in _CITATION.findall(line):
        for first, last in _CITED.findall(found):
            begin, end = int(first), int(last or first)
            cited.update(range(begin, min(end, begin + _RANGE) + 1))
    return cited


def _without_model(messages: Sequence[AnyMessage], first: int) -> list[str]:
    """One line a step."""
    turns = turns_of(messages)
    return [f"- {step_line(messages[b:e])} [#{first + b}-#{first + e - 1}]" for b, e in turns]


def _newest(lines: Sequence[str], room: float) -> list[str]:
    """As many of the newest lines as have so many tokens, and a line about the others."""
    kept: list[str] = []
    for line in reversed(lines):
        room -= estimate_text(line) + 1
        if room < 0:
            return [prompts.older_left_out(len(lines) - len(kept)), *reversed(kept)]
        kept.append(line)
    return list(reversed(kept))


def _end_of_chunk(messages: Sequence[AnyMessage], begin: int, most: float) -> int:
    """The place behind as many messages as have so many tokens, or behind one turn."""
    size = 0.0
    for place in range(begin, len(messages)):
        size += estimate_text(_shown(whole_text(messages[place])))
        if place > begin and size > most and not isinstance(messages[place], ToolMessage):
            return place
    return len(messages)


def _with_head(number: int, message: AnyMessage) -> str:
    said = framed(_shown(whole_text(message)), source_of(message))
    return f"[#{number}] {who(message)}: {said}"


def _shown(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]}\n[… {len(text) - _SHOWN:,} characters …]\n{text[-half:]}"


def _begin(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _BEGIN else f"{flat[:_BEGIN]}…"
