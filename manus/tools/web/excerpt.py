"""A long text in pieces, and those that a query is about."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_PIECE = 800
"""Characters of a piece at most; a quarter of the room where that is small."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_LEFT_OUT = "\n[…]\n"


def excerpt(text: str, query: str, limit: int) -> str:
    """The parts of a text that have most words of a query, in their order, in `limit` characters.

    A rare word counts more than one that stands in every part. Without any, the beginning.
    """
    if len(text) <= limit:
        return text
    pieces = split_text(text, min(_PIECE, limit // 4))
    wanted = words(query)
    found = [words(piece) & wanted for piece in pieces]
    common = Counter(word for each in found for word in each)
    scores = [sum(1 / common[word] for word in each) for each in found]
    kept: set[int] = set()
    room = limit - len(_LEFT_OUT)
    for place in sorted(range(len(pieces)), key=lambda place: -scores[place]):
        if (cost := len(pieces[place]) + len(_LEFT_OUT)) > room:
            break
        kept.add(place)
        room -= cost
    shown = "".join(
        piece if place in kept else _LEFT_OUT if place == 0 or place - 1 in kept else ""
        for place, piece in enumerate(pieces)
    )
    return shown.strip("\n")


def words(text: str) -> set[str]:
    """The words of a text without accents; of scripts without spaces, pairs of characters."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    found: set[str] = set()
    for word in re.findall(r"\w+", unicodedata.normalize("NFC", plain).lower()):
        if _CJK.search(word):
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            found.add(word[:-1] if len(word) > 3 and word.endswith("s") else word)
    return found


def split_text(text: str, size: int) -> list[str]:
    """A text in pieces of at most `size` characters, broken between paragraphs, lines or words."""
    pieces: list[str] = []
    begin = 0
    while begin < len(text):
        end = begin + size
        for sign in ("\n\n", "\n", " "):
            if end < len(text) and (place := text.rfind(sign, begin + size // 2, end)) > 0:
                end = place + len(sign)
                break
        pieces.append(text[begin:end])
        begin = end
    return pieces
