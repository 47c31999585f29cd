"""Cutting a text where a reader sees a boundary: not inside of what is shown as one sign.

Letters with combining marks, emoji with joiners or skin tones, flags, Hangul written in parts, and
line ends of two characters stay whole. It is less than Unicode's rules (UAX #29), and enough for a
cut: what it takes for one sign may in rare scripts be two.
"""

from __future__ import annotations

import unicodedata

_LONGEST = 64
"""Characters of one sign; what goes on for longer is no sign, and is cut anywhere."""
_FLAGS = 10_000
"""Halves of flags in a row that are counted."""
_JOINER = "\u200d"


def beginning(text: str, most: int) -> str:
    """The beginning of a text, of at most so many characters."""
    return text[: boundary_before(text, most)]


def ending(text: str, most: int) -> str:
    """The end of a text, of at most so many characters."""
    place = min(len(text), len(text) - most)
    return text[boundary_after(text, max(place, 0)) :]


def boundary_before(text: str, place: int) -> int:
    """The last boundary that is not behind a place."""
    place = max(0, min(place, len(text)))
    steps = range(place, max(place - _LONGEST, -1), -1)
    return next((found for found in steps if not joins(text, found)), place)


def boundary_after(text: str, place: int) -> int:
    """The first boundary that is not before a place."""
    place = max(0, min(place, len(text)))
    steps = range(place, min(place + _LONGEST, len(text) + 1))
    return next((found for found in steps if not joins(text, found)), place)


def joins(text: str, place: int) -> bool:
    """Whether the characters before and behind a place are of one sign."""
    if not 0 < place < len(text):
        return False
    before, behind = text[place - 1], text[place]
    if behind.isascii():
        return behind == "\n" and before == "\r"
    if before == _JOINER or continues(behind):
        return True
    return _is_flag(before) and _is_flag(behind) and _flags_before(text, place) % 2 == 1


def continues(sign: str) -> bool:
    """Whether a character is of one sign with the one before it, whatever that is."""
    if sign == _JOINER or unicodedata.category(sign) in ("Mn", "Mc", "Me"):
        return True
    return (
        "\U0001f3fb" <= sign <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= sign <= "\U000e007f"  # the letters of regional flags
        or "\u1160" <= sign <= "\u11ff"  # vowels and ends of Hangul
    )


def _is_flag(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"


def _flags_before(text: str, place: int) -> int:
    """How many halves of flags stand right before a place."""
    begin = max(0, place - _FLAGS)
    halves = 0
    while place - halves > begin and _is_flag(text[place - halves - 1]):
        halves += 1
    return halves
