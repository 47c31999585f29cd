"""Make invisible and look-alike characters in a text visible to a person.

The attacks are those of Unicode's security report (https://www.unicode.org/reports/tr39/): marks
that hide or reorder text, letters of another script inside a word, host names of look-alikes.
"""

from __future__ import annotations

import re
import unicodedata

_KEPT = frozenset("\t\n\u3000")
"""Not printable by Python's rules, but visible to a person."""
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Printable by Python's rules, but invisible."""
_VARIATIONS = re.compile("[\ufe00-\ufe0e\U000e0100-\U000e01ef]")
"""Variation selectors, which can carry hidden data; U+FE0F alone belongs to common emoji."""
_LOOKALIKE_SCRIPTS = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
_WORD = re.compile(r"[^\W\d_]+")
_HOST = re.compile(r"(?<=://)[^\s/?#\"'<>]+")


def visible(text: str) -> str:
    """Return the text with deceptive characters escaped and host names in punycode."""
    text = _HOST.sub(lambda match: host_name(match[0]), text)
    text = _WORD.sub(lambda match: _mixed_word(match[0]), text)
    return "".join(_visible_character(character) for character in text)


def host_name(host: str) -> str:
    """Return a host name in the form that is resolved: in punycode if it is not ASCII."""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host.encode("unicode_escape").decode("ascii")


def _mixed_word(word: str) -> str:
    """Escape the letters of a look-alike script in a word that also has Latin letters."""
    if word.isascii() or not any(character.isascii() for character in word):
        return word
    return "".join(_escape(c) if _script(c) in _LOOKALIKE_SCRIPTS else c for c in word)


def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]


def _visible_character(character: str) -> str:
    if character in _KEPT:
        return character
    is_hidden = character in _BLANK or _VARIATIONS.match(character)
    return _escape(character) if is_hidden or not character.isprintable() else character


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
