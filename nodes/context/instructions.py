"""The user's standing instructions: quoted word for word, and given up when they are taken back."""

from __future__ import annotations

from collections.abc import Sequence

from manus.nodes.context.notes import BULLET
from manus.prompts.compaction import TAKEN_BACK

_QUOTES = "\"'“”„‘’«»「」『』"
_NONE = ("none", "none.")


def still_held(known: Sequence[str], reply: str, said: str) -> list[str]:
    """The instructions that hold after the user said more, as a model found them.

    What is new stands in what was `said`, word for word. A known one goes only if the reply names
    it, and quotes the words with which the user takes it back.
    """
    gone = taken_back(known, reply, said)
    stays = [one for one in known if one not in gone]
    return [*stays, *(one for one in quoted(reply, said) if one not in stays)]


def taken_back(known: Sequence[str], reply: str, said: str) -> list[str]:
    """Those of the known instructions that a reply says are taken back, with proof."""
    found = []
    for line in map(_bare, reply.replace("：", ":").splitlines()):
        if not line.upper().startswith(TAKEN_BACK):
            continue
        named, _, proof = line[len(TAKEN_BACK) :].partition(" | ")
        if quoted(proof, said):
            found += [one for one in known if _folded(one) == _folded(named)]
    return found


def quoted(reply: str, source: str) -> list[str]:
    """The lines of a reply that stand in the source word for word.

    Lines may be broken otherwise, and in a script that has no spaces anywhere.
    """
    flat, dense = " ".join(source.split()), "".join(source.split())
    lines = map(_bare, reply.splitlines())
    stated = (line for line in lines if line and line.casefold() not in _NONE)
    return list(dict.fromkeys(line for line in stated if _stands_in(line, flat, dense)))


def _bare(line: str) -> str:
    """A line without what models put around a quotation."""
    return " ".join(BULLET.sub("", line).split()).strip(_QUOTES)


def _folded(line: str) -> str:
    return _bare(line).rstrip(".!。！").casefold()


def _stands_in(line: str, flat: str, dense: str) -> bool:
    return line in flat or (not line.isascii() and "".join(line.split()) in dense)
