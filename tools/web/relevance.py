"""Cutting a long text down to what has to do with a goal, without a model."""

from __future__ import annotations

import math
import re
from collections import Counter

_PIECE = 1_200
"""Characters that a piece grows to before the next one begins."""
_K, _B = 1.5, 0.75  # the usual constants of BM25 (Robertson and Zaragoza, 2009)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_WORD = re.compile(r"\w+")


def cut_by_relevance(text: str, goal: str, limit: int) -> str:
    """The parts of a Markdown text that fit a goal best, in their order, in `limit` characters.

    What was left out between two parts is said in a line. A goal of which the text has no word
    leads to the beginning of the text.
    """
    if len(text) <= limit:
        return text
    pieces = _pieces(text)
    scores = _scores(pieces, goal)
    order = sorted(range(len(pieces)), key=lambda place: (-scores[place], place))
    kept: set[int] = set()
    room = limit - 60
    for place in order:
        cost = len(pieces[place]) + 30
        if cost <= room:
            kept.add(place)
            room -= cost
        elif not kept:
            kept.add(place)
            pieces[place] = pieces[place][: max(0, room)]
            break
    return _joined(pieces, kept)


def _joined(pieces: list[str], kept: set[int]) -> str:
    parts: list[str] = []
    left_out = 0
    for place, piece in enumerate(pieces):
        if place not in kept:
            left_out += len(piece)
            continue
        if left_out:
            parts.append(f"[… {left_out:,} characters …]")
        left_out = 0
        parts.append(piece)
    if left_out:
        parts.append(f"[… {left_out:,} characters …]")
    return "\n\n".join(parts)


def _pieces(text: str) -> list[str]:
    """Paragraphs put together to pieces; a heading begins a new one."""
    pieces: list[str] = []
    current = ""
    for block in re.split(r"\n{2,}", text):
        heading = block.startswith("#")
        if current and (heading or len(current) + len(block) > _PIECE):
            pieces.append(current)
            current = ""
        current = f"{current}\n\n{block}" if current else block
        while len(current) > 2 * _PIECE:
            cut = current.rfind("\n", 0, _PIECE)
            cut = cut if cut > 0 else _PIECE
            pieces.append(current[:cut])
            current = current[cut:].lstrip("\n")
    return [*pieces, current] if current else pieces


def terms(text: str) -> list[str]:
    """The words of a text; of scripts without spaces between words, pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        if _CJK.search(word):
            found.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            found.append(word[:-1] if len(word) > 3 and word.endswith("s") else word)
    return found


def _scores(pieces: list[str], goal: str) -> list[float]:
    wanted = set(terms(goal))
    counts = [Counter(terms(piece)) for piece in pieces]
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / max(1, len(lengths)) or 1.0
    have = {term: sum(term in count for count in counts) for term in wanted}
    total = len(pieces)

    def score(place: int) -> float:
        norm = _K * (1 - _B + _B * lengths[place] / mean)
        return sum(
            math.log(1 + (total - have[term] + 0.5) / (have[term] + 0.5))
            * (counts[place][term] * (_K + 1))
            / (counts[place][term] + norm)
            for term in wanted
            if counts[place][term]
        )

    return [score(place) for place in range(total)]
