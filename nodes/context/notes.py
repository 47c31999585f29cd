"""The notes on what was taken out of a history: lines under fixed headings."""

from __future__ import annotations

import re
from collections.abc import Iterable

from manus.models.tokens import estimate_text
from manus.prompts import compaction as prompts
from manus.prompts.compaction import DONE, FILES, FOUND, NEXT, OPEN, WANTED

Notes = dict[str, list[str]]
"""Lines by their heading."""

BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*(?:#+|\*\*)?\s*([A-Za-z ]+?)\s*:?\s*(?:\*\*)?:?\s*")
_NAMES = {name.lower(): name for name in prompts.HEADINGS}
_GIVE_WAY = (DONE, FOUND, FILES, WANTED, OPEN, NEXT)
"""Which lines go first where there is no room for all."""


def parse(lines: Iterable[str]) -> Notes:
    """The lines that begin with a bullet, by heading; those before any are taken for findings."""
    notes: Notes = {name: [] for name in prompts.HEADINGS}
    name = FOUND
    for line in lines:
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            name = _NAMES.get(heading[1].lower(), name)
        elif BULLET.match(line):
            notes[name].append(line)
    return notes


def as_lines(notes: Notes) -> list[str]:
    """The notes as the history has them: without headings that have nothing, nor a line twice."""
    listed = []
    for name in prompts.HEADINGS:
        if lines := notes[name]:
            listed += [prompts.heading(name), *dict.fromkeys(lines)]
    return listed


def with_room(notes: Notes, room: float) -> list[str]:
    """As many lines as have so many tokens, the newest of each heading, and one about the rest."""
    kept, dropped = {name: [*lines] for name, lines in notes.items()}, 0
    size = sum(estimate_text(line) + 1 for line in as_lines(kept))
    for name in _GIVE_WAY:
        while kept[name] and size > room:
            size -= estimate_text(kept[name].pop(0)) + 1
            dropped += 1
    lines = as_lines(kept)
    return [prompts.older_left_out(dropped), *lines] if dropped else lines
