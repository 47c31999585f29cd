"""Write notes on evicted messages: bullets under headings, from a model or without one."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from manus.models.tokens import estimate_request, estimate_text, learn_window
from manus.nodes.active_run import ActiveRun
from manus.nodes.loop_detection import format_call
from manus.nodes.stop_conditions import format_step
from manus.nodes.turns import full_text, get_sender, split_turns
from manus.prompts import compaction as prompts
from manus.prompts.compaction import DONE, FILES, FOUND, NEXT, OPEN, WANTED
from manus.prompts.sources import framed
from manus.state.errors import ContextOverflowError, ManusError
from manus.state.messages import get_own_text, get_source, get_text, is_from_user, list_calls
from manus.state.text import one_line

log = logging.getLogger("manus")

ROLE = "summary"
_MAX_MESSAGE = 4_000
"""Characters of each message that the summarizer sees; the archive has the whole message."""
_MAX_CHUNK = 30_000
"""Maximum tokens of messages in one request to the summarizer."""
_MIN_CHUNK = 1_000
_CHUNK_SHARE = 0.5
"""Maximum share of the summarizer's context window for the messages of a request."""
_MAX_REQUEST = 160
"""Characters of an earlier run's request that the notes quote."""
_ATTEMPTS = 2
"""Maximum number of requests if the replies contain no notes."""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*(?:#+|\*\*)?\s*([A-Za-z ]+?)\s*:?\s*(?:\*\*)?:?\s*")
_HEADINGS = {name.lower(): name for name in prompts.HEADINGS}
_EVICTION_ORDER = (DONE, FOUND, FILES, WANTED, OPEN, NEXT)
"""Order in which headings lose their oldest lines when there is no room for all."""

Notes = dict[str, list[str]]
"""Lines by their heading."""


def parse_notes(lines: Iterable[str]) -> Notes:
    """Return the bullets by heading; those before the first heading count as findings."""
    notes: Notes = {name: [] for name in prompts.HEADINGS}
    name = FOUND
    for line in lines:
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            name = _HEADINGS.get(heading[1].lower(), name)
        elif _BULLET.match(line):
            text = _BULLET.sub("", line).strip()
            if text:
                notes[name].append(f"- {text}")
    return notes


def format_notes(notes: Notes) -> list[str]:
    """Return the notes as lines, without empty headings and repeated lines."""
    formatted = []
    for name in prompts.HEADINGS:
        lines = notes[name]
        if lines:
            formatted.append(f"## {name}")
            formatted.extend(dict.fromkeys(lines))
    return formatted


def truncate_notes(notes: Notes, room: float) -> list[str]:
    """Return the newest lines of each heading, at most `room` tokens, and count the others."""
    dropped = 0
    size = sum(estimate_text(line) + 1 for line in format_notes(notes))
    for name in _EVICTION_ORDER:
        while notes[name] and size > room:
            size -= estimate_text(notes[name].pop(0)) + 1
            dropped += 1
    lines = format_notes(notes)
    if dropped:
        lines.insert(0, prompts.older_left_out(dropped))
    return lines


async def take_notes(
    active_run: ActiveRun,
    request: str,
    existing: list[str],
    evicted: Sequence[AnyMessage],
    first: int,
    room: float,
) -> list[str]:
    """Return the existing notes and those on evicted messages, at most `room` tokens.

    The messages are numbered from `first`. If the model fails for a chunk of them, its notes have
    one line per step instead.
    """
    notes = parse_notes(existing)
    start = 0
    while start < len(evicted):
        # an overflow of one chunk reveals the window's size for the next
        max_tokens = min(_MAX_CHUNK, _CHUNK_SHARE * active_run.client.window(ROLE))
        end = _find_chunk_end(evicted, start, max(_MIN_CHUNK, max_tokens))
        chunk = dict(enumerate(evicted[start:end], first + start))
        summary = await _summarize_chunk(active_run, request, format_notes(notes), chunk)
        if summary is None:
            notes[DONE] += _summarize_without_model(evicted[start:end], first + start)
        else:
            notes = summary
        start = end
    for number, message in enumerate(evicted, first):
        if is_from_user(message):
            quoted = one_line(get_text(message), _MAX_REQUEST)
            notes[WANTED].append(f"- The user said: {quoted} [#{number}]")
    return truncate_notes(notes, room)


async def _summarize_chunk(
    active_run: ActiveRun, request: str, lines: list[str], chunk: Mapping[int, AnyMessage]
) -> Notes | None:
    """Return the notes, rewritten by the model; None if it fails, or twice replies without any."""
    max_words = str(active_run.settings.compaction.notes_words)
    messages = [
        SystemMessage(prompts.SUMMARIZER.replace("$words", max_words)),
        HumanMessage(prompts.notes_request(_truncate(request), lines, _transcript(chunk))),
    ]
    for _ in range(_ATTEMPTS):
        try:
            reply = await active_run.client.complete(ROLE, messages, quiet=True)
        except ManusError as error:
            log.info("the model wrote no notes: %s", error)
            if isinstance(error, ContextOverflowError):
                learn_window(error, estimate_request(messages))
            return None
        notes = parse_notes(get_text(reply.message).splitlines())
        if any(notes.values()):
            return notes
    return None


def _transcript(chunk: Mapping[int, AnyMessage]) -> str:
    """Format numbered messages for the summarizer."""
    parts = []
    for number, message in chunk.items():
        text = framed(_truncate(full_text(message)), get_source(message), get_own_text(message))
        parts.append(f"[#{number}] {get_sender(message)}: {text}")
    return "\n\n".join(parts)


def _summarize_without_model(messages: Sequence[AnyMessage], first: int) -> list[str]:
    """Return one line per step with its calls and their results."""
    lines = []
    for start, end in split_turns(messages):
        line = format_step(messages[start:end])
        calls = _format_calls(messages[start])
        if calls:
            line = f"{calls}: {line}"
        lines.append(f"- {line} [#{first + start}-#{first + end - 1}]")
    return lines


def _format_calls(message: AnyMessage) -> str:
    if not isinstance(message, AIMessage):
        return ""
    return ", ".join(format_call(call["name"] or "", call["args"]) for call in list_calls(message))


def _find_chunk_end(messages: Sequence[AnyMessage], start: int, max_tokens: float) -> int:
    """Return the index past the messages that fit into a chunk; at least one turn does."""
    size = 0.0
    for index in range(start, len(messages)):
        message = messages[index]
        size += estimate_text(_truncate(full_text(message)))
        if index > start and size > max_tokens and not isinstance(message, ToolMessage):
            return index
    return len(messages)


def _truncate(text: str) -> str:
    """Return the text as the summarizer sees it: only its start and end if it is long."""
    if len(text) <= _MAX_MESSAGE:
        return text
    half = _MAX_MESSAGE // 2
    return f"{text[:half]}\n[… {len(text) - _MAX_MESSAGE:,} characters …]\n{text[-half:]}"
