"""Taking notes of messages that are taken out: by a model, checked, or without one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage

from manus.models.retry import Tell
from manus.models.tokens import estimate_message, estimate_request, estimate_text
from manus.nodes.active_run import Running
from manus.nodes.context.compaction import turns_of, who, whole_text
from manus.nodes.context.instructions import still_held
from manus.nodes.context.large import fitted
from manus.nodes.context.notes import Sources, bare_lines, bounded, checked_lines
from manus.nodes.turn.results import step_line
from manus.prompts import compaction as prompts
from manus.state.agent import Compaction
from manus.state.errors import ContextOverflowError, ManusError
from manus.state.messages import since, text_of

log = logging.getLogger("manus")

ROLE = "summary"
_AROUND = 10
"""Tokens around each of them: its number and who said it."""
_SHOWN = 4_000
"""Characters of each message that the summarizer sees; the archive has all of them."""
_CHUNK = 30_000
"""Tokens of messages that one request to the summarizer has at most."""
_LEAST_CHUNK = 1_000
_TRIES = 3
_PART = 0.5
"""Part of the summarizer's window that they have at most."""
_BEGIN = 160
"""Characters of a request of an earlier run that the notes quote."""


class NoteTaker:
    """Asks the model of the role `summary` for one run."""

    def __init__(self, running: Running, tell: Tell | None) -> None:
        self._running = running
        self._tell = tell

    async def notes(
        self, before: list[str], evicted: Sequence[AnyMessage], first: int, room: float
    ) -> list[str]:
        """The notes there were, and those on messages numbered from `first`, in so many tokens.

        A part for which the model fails has one line a step instead.
        """
        lines, most, begin = before, self._chunk(), 0
        known = range(1, first + len(evicted))
        while begin < len(evicted):
            end = _end_of_chunk(evicted, begin, most)
            part = evicted[begin:end]
            try:
                written = await self._written(lines, part, first + begin, known)
            except ContextOverflowError:
                if most > _LEAST_CHUNK:
                    most = min(most / 2, self._chunk())
                    continue
                written = []
            lines = written or [*lines, *_without_model(part, first + begin)]
            begin = end
        asked = [(n, m) for n, m in enumerate(evicted, first) if isinstance(m, HumanMessage)]
        lines += bare_lines((n, n, f"The user said: {_begin(text_of(m))}") for n, m in asked)
        return bounded(lines, room, estimate_text)

    def _chunk(self) -> float:
        """Tokens of messages that one request to the summarizer has at most."""
        return min(_CHUNK, max(_LEAST_CHUNK, _PART * self._running.client.window(ROLE).size))

    async def _written(
        self, lines: list[str], part: Sequence[AnyMessage], first: int, known: Sequence[int]
    ) -> list[str]:
        """The notes as the model writes them anew; none if it fails or nothing of it holds."""
        words = str(self._running.settings.context.notes_words)
        system = prompts.SUMMARIZER.replace("$words", words)
        shown = "\n\n".join(
            f"[#{first + i}] {who(m)}: {_shortened(whole_text(m))}" for i, m in enumerate(part)
        )
        reply = await self._ask(system, prompts.notes_request(lines, shown))
        sources = Sources(lines)
        for i, message in enumerate(part):
            sources.add(first + i, whole_text(message))
        return checked_lines(reply, sources, known) if reply else []

    async def instructions(
        self, history: Sequence[AnyMessage], before: Compaction
    ) -> tuple[list[str], str]:
        """The standing instructions, as they are after the user's messages that are new.

        And the newest message that was looked at; where the model fails, that is as before.
        """
        known, examined = before["instructions"], before["examined"]
        users = [m for m in history if isinstance(m, HumanMessage)]
        while fresh := [m for m in since(users, examined) if isinstance(m, HumanMessage)]:
            part = _as_many(fresh, _PART * self._running.client.window(ROLE).size)
            reply = await self._found_in(part, known)
            if not reply:
                break
            known = still_held(known, reply, "\n\n".join(map(text_of, part)))
            examined = str(part[-1].id)
        return known, examined

    async def _found_in(self, said: Sequence[HumanMessage], known: list[str]) -> str:
        """What the model finds in what the user said; nothing if it fails."""
        for _ in range(_TRIES):
            room = _PART * self._running.client.window(ROLE).size
            shown = map(text_of, await fitted(self._running, said, room, user=1.0))
            with suppress(ContextOverflowError):
                question = prompts.said_since(known, "\n\n".join(shown))
                return await self._ask(prompts.INSTRUCTION_FINDER, question)
        return ""

    async def _ask(self, system: str, question: str) -> str:
        """The reply; nothing if the model fails.

        Raises:
            ContextOverflowError: the question is too large; how large it may be is known then.
        """
        request = [SystemMessage(system), HumanMessage(question)]
        try:
            reply = await self._running.client.complete(ROLE, request, tell=self._tell, quiet=True)
        except ContextOverflowError as error:
            self._running.client.learn_window(ROLE, error, estimate_request(request))
            raise
        except ManusError as error:
            log.info("no notes by the model: %s", error)
            return ""
        return text_of(reply.message)


def _shortened(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    note = f"[… {len(text) - _SHOWN:,} characters …]"
    return f"{text[:half]}\n{note}\n{text[-half:]}"


def _end_of_chunk(messages: Sequence[AnyMessage], begin: int, most: float) -> int:
    """The place behind as many messages as have so many tokens, or behind one turn."""
    size = 0.0
    for place in range(begin, len(messages)):
        size += estimate_text(_shortened(whole_text(messages[place]))) + _AROUND
        if place > begin and size > most and not isinstance(messages[place], ToolMessage):
            return place
    return len(messages)


def _as_many(messages: Sequence[HumanMessage], room: float) -> list[HumanMessage]:
    """The first messages, as many as have so many tokens of room; one at least."""
    sizes = accumulate(min(estimate_message(m), room) for m in messages)
    return list(messages[: max(1, sum(1 for size in sizes if size <= room))])


def _begin(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _BEGIN else f"{flat[:_BEGIN]}…"


def _without_model(messages: Sequence[AnyMessage], first: int) -> list[str]:
    turns = turns_of(messages)
    return bare_lines((first + b, first + e - 1, step_line(messages[b:e])) for b, e in turns)
