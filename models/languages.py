"""What a word costs in tokens, by the language of the text around it.

Vocabularies know some languages better than others: a German word of nine letters is two tokens, a
Czech one three. The language is told from its commonest words, or from letters that others lack;
what its words cost was fitted to `o200k_base` over translations of one program's texts and over
sample sentences of some thirty languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_LOOKED = 6_000
"""Characters that are looked at to tell the language."""
_SHARE = 0.06
"""Part of the words that must be common ones of the language."""
_FEWEST = 2
_SHORT = re.compile(r"(?<!\S)[^\W\d_]{2,6}(?=[\s,.;:!?]|$)")
"""Words as prose has them, between spaces; not parts of names and calls in code."""
_ACCENT = re.compile("[À-ɏḀ-ỿ]")


class Cost(NamedTuple):
    """A word costs one token up to so many letters, and so much more for each letter beyond."""

    letters: float
    more: float

    def of(self, size: int) -> float:
        """Tokens of a word of so many letters, the space before it included."""
        return 1.0 + self.more * max(0.0, size - self.letters)


WELL_KNOWN = Cost(4.5, 0.16)
KNOWN = Cost(4.0, 0.20)
LESS_KNOWN = Cost(3.6, 0.27)
LITTLE_KNOWN = Cost(3.3, 0.32)
HARDLY_KNOWN = Cost(3.0, 0.37)

_COMMON: tuple[tuple[Cost | None, str], ...] = (
    (None, "the of and to is that for it with as this are be by not you from at or have an"),
    (WELL_KNOWN, "der die und das ist nicht ein eine den von mit auf für dem sich des auch es im"),
    (WELL_KNOWN, "het een van dat op te zijn voor niet met aan ook wordt bij deze om naar uit"),
    (WELL_KNOWN, "le la les des est et une dans que pour qui sur pas plus par au ce avec vous du"),
    (WELL_KNOWN, "el los las una por con para del que es se su al como más no está lo en de"),
    (WELL_KNOWN, "os as uma um não que do da em para com se por dos no na mais foi ao ou são"),
    (KNOWN, "il di che non per una sono del della con gli le più si dei nel ha come questo un"),
    (KNOWN, "yang dan di untuk dengan ini itu dari tidak pada adalah akan ke atau dalam anda"),
    (LITTLE_KNOWN, "và là của có không được cho một các trong người này với những đã"),
    (LESS_KNOWN, "och att det som en är på av för den med inte till har ett om var vi du"),
    (LESS_KNOWN, "og det som en er på av for den med ikke til har et kan du vi de at fra blir"),
    (LESS_KNOWN, "els una amb per que és no del les al es ha són aquest aquesta més"),
    (LITTLE_KNOWN, "și de la în cu nu este pe un care din sau pentru mai să fi au al acest"),
    (LITTLE_KNOWN, "je na se da su za od koji nije kao ili iz biti što ne ako"),
    (LITTLE_KNOWN, "in je na se za da so ne ki pri iz lahko kot ali ni bo mora"),
    (LITTLE_KNOWN, "ve bir bu için ile da de olarak olan çok daha gibi ne var değil en"),
    (LITTLE_KNOWN, "na nie się do jest że to przez jak dla od lub po są co być tym"),
    (LITTLE_KNOWN, "ja on ei se että oli ovat tai sekä kun mutta tämä joka myös hän voi"),
    (LITTLE_KNOWN, "ja on ei see et mis või oli ka kui oma tema selle kuid võib"),
    (HARDLY_KNOWN, "je se na to že do ve pro by jsou od jako tak nebo není být"),
    (HARDLY_KNOWN, "je sa na to že do vo pre by sú od ako tak alebo nie byť"),
    (HARDLY_KNOWN, "az és hogy nem is egy ez van meg csak de ha vagy volt mint már kell"),
    (HARDLY_KNOWN, "un ir ka uz no ar par kas to bet lai vai nav tiek ja tā pie"),
    (HARDLY_KNOWN, "ir kad su iš tai yra kaip bet ar už ne po tik nuo jis prie"),
)


def _owners() -> dict[str, list[int]]:
    owners: dict[str, list[int]] = {}
    for place, (_, words) in enumerate(_COMMON):
        for word in words.split():
            owners.setdefault(word, []).append(place)
    return owners


_OWNERS = _owners()
"""By word: the places in `_COMMON` of the languages in which it is common."""

# The first counts where none of the letters is there.
_CYRILLIC = (
    (re.compile("[ыэёЫЭ]"), Cost(3.4, 0.22)),  # Russian
    (re.compile("[іїєґІЇЄҐ]"), Cost(3.0, 0.36)),  # Ukrainian
    (re.compile("[ъ]"), Cost(3.0, 0.34)),  # Bulgarian
    (re.compile("[ђјљњћџЂЈЉЊЋЏ]"), Cost(2.8, 0.39)),  # Serbian, Macedonian
)


def latin_cost(text: str) -> Callable[[int], float] | None:
    """What words in Latin letters cost by their length; None for English, code and the like."""
    words = _SHORT.findall(text[:_LOOKED].lower())
    if not words:
        return None
    hits = [0] * len(_COMMON)
    for word in words:
        for place in _OWNERS.get(word, ()):
            hits[place] += 1
    most = max(hits)
    if most >= _FEWEST and most >= _SHARE * len(words):
        cost = _COMMON[hits.index(most)][0]
        return None if cost is None else cost.of
    accents = len(_ACCENT.findall(text[:_LOOKED]))
    return LESS_KNOWN.of if accents > 0.05 * len(words) else None


def cyrillic_cost(text: str) -> Callable[[int], float]:
    """What words in Cyrillic letters cost by their length."""
    part = text[:_LOOKED]
    hits = ((len(letters.findall(part)), cost) for letters, cost in _CYRILLIC)
    return max(hits, key=lambda hit: hit[0])[1].of
