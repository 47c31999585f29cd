"""What is looked for in the archive: the words of a query, and their parts where it has none."""

from __future__ import annotations

import re
from typing import NamedTuple

_LOOKED = 2_000
"""Characters of a query that are looked at."""
_TERMS = 20
_GRAMS = 60
_PAIRS = 12
_WIDEST = 80
"""Characters of one term."""
GRAM = 3
_TERM = re.compile(r"\w+")
# Scripts that put no space between words: Thai, Lao, Khmer, kana, Han, Hangul with its particles.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)


class Query(NamedTuple):
    """A query, taken apart."""

    words: list[str]
    grams: list[str]
    """For the index by three signs: words of at least three, and the threes of what has no spaces.
    """
    pairs: list[str]
    """What no index holds: words of one or two signs that are no Latin letters."""
    weak: list[str]
    """Twos of what has no spaces, for where nothing else is found."""


def taken_apart(query: str) -> Query:
    """The parts of a query; of a very long one those of its beginning."""
    found = (term[:_WIDEST] for term in _TERM.findall(query[:_LOOKED]))
    terms = list(dict.fromkeys(found))[:_TERMS]
    runs = [run for term in terms for run in _UNSPACED.findall(term)]
    long = [term for term in terms if len(term) >= GRAM]
    threes = [three for run in runs for three in _windows(run, GRAM)]
    return Query(
        words=terms,
        grams=list(dict.fromkeys([*long, *threes]))[:_GRAMS],
        pairs=[term for term in terms if len(term) < GRAM and not term.isascii()],
        weak=list(dict.fromkeys(two for run in runs for two in _windows(run, 2)))[:_PAIRS],
    )


def _windows(run: str, size: int) -> list[str]:
    return [run[place : place + size] for place in range(len(run) - size + 1)]
