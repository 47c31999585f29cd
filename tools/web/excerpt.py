"""The part of a long text that a query is about: where most of its words stand together."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable

from manus.tools.archive_query import taken_apart

_PLACES = 200
"""Places of one word that are looked at."""
_BEFORE = 3
"""One part in so many of an excerpt stands before the first word."""
_STEM = 4
"""Letters that a word has at least after its ending was left out."""
_ENDING = 3
_EQUAL = 1e-9

Place = tuple[int, str, float]
"""Where a word stands, the word, and what it weighs."""


def excerpt(text: str, query: str, size: int) -> str:
    """About so many characters of a text, or all of it if it is short."""
    if len(text) <= size:
        return text
    places = _places(_folded(text), query)
    begin = max(0, min(_best(places, size - size // _BEFORE) - size // _BEFORE, len(text) - size))
    end = begin + size
    before, after = "… " if begin else "", " …" if end < len(text) else ""
    return f"{before}{text[begin:end]}{after}"


def _places(folded: str, query: str) -> list[Place]:
    """Where the parts of a query stand; the smaller parts only where the larger ones do not."""
    asked = taken_apart(_folded(query))
    found: list[Place] = []
    for terms in ((*asked.words, *asked.pairs), asked.grams, asked.weak):
        for term in dict.fromkeys(terms):
            places = _find(folded, term)
            weight = len(term) / (1 + math.log(len(places) or 1))  # a rare word says more
            found += [(place, term, weight) for place in places]
        if found:
            break
    return sorted(found)


def _find(folded: str, term: str) -> list[int]:
    """The places of a word; of what it begins with, where it has another ending there."""
    for length in range(len(term), max(len(term) - _ENDING, min(_STEM, len(term))) - 1, -1):
        if places := list(_each(folded, term[:length])):
            return places
    return []


def _each(folded: str, term: str) -> Iterable[int]:
    place = folded.find(term)
    for _ in range(_PLACES):
        if place < 0:
            return
        yield place
        place = folded.find(term, place + 1)


def _best(places: list[Place], width: int) -> int:
    """The place from which on a stretch of that width has the words that weigh most.

    Of a row of such places the one in its middle, so that they stand in the middle too.
    """
    first = best = last = 0
    most = 0.0
    counts: Counter[str] = Counter()
    weight = 0.0
    for begin, term, own in places:
        while last < len(places) and places[last][0] < begin + width:
            _, other, others = places[last]
            weight += others if not counts[other] else 0.0
            counts[other] += 1
            last += 1
        if weight > most + _EQUAL:
            first, best, most = begin, begin, weight
        elif weight > most - _EQUAL and begin < first + width:
            best = begin
        counts[term] -= 1
        weight -= own if not counts[term] else 0.0
    return (first + best) // 2


def _folded(text: str) -> str:
    """The text in small letters without accents, as long as it is."""
    return text.translate({ord(sign): _fold(sign) for sign in set(text)})


def _fold(sign: str) -> str:
    parts = unicodedata.normalize("NFD", sign)
    is_marked = len(parts) > 1 and unicodedata.category(parts[1]) == "Mn"
    return (parts[0] if is_marked else sign).lower()[:1]
