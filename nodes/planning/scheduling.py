"""Which steps go to work together."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection

from manus.state.plan import Plan, Step, ready_steps

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_FILE = re.compile(r"(?:[\w.~-]+/)*[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,7}\b")
_NO_FILES = frozenset({"e.g", "i.e", "a.m", "p.m"})


def files_named(text: str) -> frozenset[str]:
    """The files that a step's text names; addresses of pages are not files."""
    found = (m.group(0).rstrip(".") for m in _FILE.finditer(_ADDRESS.sub(" ", text)))
    return frozenset(posixpath.normpath(f) for f in found if f.lower() not in _NO_FILES)


def collide(one: Step, other: Step, exclusive: Collection[str]) -> bool:
    """Whether two steps may not be at work at the same time.

    They may not if they name the same file, with or without its folder, or if both need an
    executor of which there can be only one at work.
    """
    if one["executor"] in exclusive and other["executor"] in exclusive:
        return True
    mine, theirs = files_named(one["text"]), files_named(other["text"])
    return any(_same_file(a, b) for a in mine for b in theirs)


def _same_file(one: str, other: str) -> bool:
    if "/" in one and "/" in other:
        return one == other
    return posixpath.basename(one) == posixpath.basename(other)


def choose_steps(plan: Plan, most: int, exclusive: Collection[str] = ()) -> list[int]:
    """Places of the steps that go to work now, in order, at most so many."""
    chosen: list[int] = []
    for index in ready_steps(plan):
        step = plan["steps"][index]
        if len(chosen) >= most:
            break
        if any(collide(step, plan["steps"][other], exclusive) for other in chosen):
            continue
        chosen.append(index)
    return chosen
