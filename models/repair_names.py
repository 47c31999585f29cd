"""Which of the known names a wrong one means; None where it could be more than one."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAMESPACE = re.compile(r"^(?:functions?|tools?|default_api|default|api)[.:/]+", re.IGNORECASE)
_MARKUP = re.compile(r"<\|.*$|<[/|].*$", re.DOTALL)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
SHORTEST = 5
"""Letters of a name in which one wrong letter is still forgiven."""


def meant(given: str, known: Sequence[str]) -> str | None:
    """The known name that the given one means.

    It may differ in letter case and separators, in a namespace before it, in markup behind it,
    and in one wrong, missing, doubled or swapped letter that is not the first of a word: so
    `get_state` never means `set_state`.
    """
    if given in known:
        return given
    bare = _NAMESPACE.sub("", _MARKUP.sub("", given).strip().strip("`'\"()"))
    same = [name for name in known if _plain(name) == _plain(bare)]
    if len(same) == 1:
        return same[0]
    if same or len(_plain(bare)) < SHORTEST:
        return None
    near = [name for name in known if is_near(bare, name)]
    return near[0] if len(near) == 1 else None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: `filePath` and `file_path` have the same."""
    return [word.lower() for word in _WORDS.findall(name)]


def is_near(one: str, other: str) -> bool:
    """Whether two names differ by one slip, with the same number of words that begin alike."""
    first, second = words_of(one), words_of(other)
    if not first or len(first) != len(second) or [w[0] for w in first] != [w[0] for w in second]:
        return False
    return _one_slip("_".join(first), "_".join(second))


def _one_slip(one: str, other: str) -> bool:
    """Whether one letter more, less or other, or two swapped ones, make them the same."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(shorter))
    if len(longer) == len(shorter) + 1:
        return shorter[at:] == longer[at + 1 :]
    if len(longer) != len(shorter):
        return False
    swapped = one[at : at + 2] == other[at : at + 2][::-1]
    return one[at + 1 :] == other[at + 1 :] or (swapped and one[at + 2 :] == other[at + 2 :])
