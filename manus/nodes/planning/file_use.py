"""Infer which files a step reads and writes, from the plan or from the step's text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from manus.state.plan import Step

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_FILE = re.compile(r"(?:[\w.~-]+/)*[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,7}\b")
_NO_FILES = frozenset({"e.g", "i.e", "a.m", "p.m"})
_CLAUSE_END = re.compile(r"[.;:!?]\s|\n")
_WORD = re.compile(r"[A-Za-z]+")

# Words that indicate what the step does to the next file. They count only if the plan does not
# declare what the step writes; a step without such words counts as a reader.
_CHANGE = re.compile(
    "add|append|change|clean|complete|correct|delete|edit|extend|fill|fix|format|improve|insert"
    "|modify|move|overwrite|patch|polish|refactor|remove|rename|repair|replace|revise|rewrite"
    "|update"
)
_CREATE = re.compile(
    "build|create|draft|dump|export|generate|implement|make|prepare|produce|save|store|write"
)
_READ = re.compile(
    "analy[sz]e|calculate|compare|compute|count|describe|draw|evaluate|explore|inspect|load|open"
    "|parse|read|reading|reads|summari[sz]e|use|uses|using|validate|verify"
)
_SOURCE = re.compile(
    "about|according|after|against|based|by|for|from|given|of|on|over|per|through|via|with|within"
)
_TARGET = re.compile("as|called|into|named|onto|to")
_LOCATION = re.compile("at|in|inside")
_INTO_OTHER = re.compile(
    rf"[`'\"]?,?\s+(?:in)?to\s+[`'\"]?{_FILE.pattern}|[`'\"]?\s+as\s+[`'\"]?{_FILE.pattern}"
)
"""Matches what follows a file whose changed content goes into another one."""
_MOVES = re.compile(r"\b(?:move|rename)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileUse:
    """The files that a step reads and writes."""

    reads: frozenset[str]
    writes: frozenset[str]


def find_file_use(step: Step) -> FileUse:
    """Return which files a step reads and which it writes.

    The plan's `writes` takes precedence. Without it, the words before each file name decide.
    """
    text = _ADDRESS.sub(" ", step["text"])
    matches = [match for match in _FILE.finditer(text) if match[0].lower() not in _NO_FILES]
    writes = set[str]()
    declared = step.get("writes")
    if declared is not None:
        writes.update(map(_normalize, declared))
    else:
        for match in matches:
            before = text[: match.start()]
            has_target = _INTO_OTHER.match(text, match.end()) and not _MOVES.search(before)
            if _is_written(before) and not has_target:
                writes.add(_normalize(match[0]))
    reads = set[str]()
    for match in matches:
        path = _normalize(match[0])
        if not _overlap([path], writes):
            reads.add(path)
    return FileUse(frozenset(reads), frozenset(writes))


def must_take_turns(first: Step, second: Step) -> bool:
    """Return whether one of two steps writes a file that the other one reads or writes."""
    first_use = find_file_use(first)
    second_use = find_file_use(second)
    return (
        _overlap(first_use.writes, second_use.writes)
        or _overlap(first_use.writes, second_use.reads)
        or _overlap(first_use.reads, second_use.writes)
    )


def _normalize(path: str) -> str:
    return path.strip().strip("`'\"").removeprefix("./")


def _overlap(paths: Iterable[str], other_paths: Collection[str]) -> bool:
    """Return whether some path may mean the same file as one of the other paths."""
    return any(_is_same(path, other) for path in paths for other in other_paths)


def _is_same(path: str, other: str) -> bool:
    """Return whether two paths may mean one file; a path with `/` at its end is a folder."""
    if path.endswith("/") or other.endswith("/"):
        return path.startswith(other) or other.startswith(path)
    return f"/{path}".endswith(f"/{other}") or f"/{other}".endswith(f"/{path}")


def _is_written(before: str) -> bool:
    """Return whether the file named after this text is written, judged by its clause.

    "Fix the bug in", "append a line to", "create" write the file that follows; "create a chart
    of", "count the rows in", "using" read it.
    """
    clause = _CLAUSE_END.split(_FILE.sub(" ", before))[-1]
    nearest_preposition = ""
    has_source = False
    for word in reversed(_WORD.findall(clause.lower())):
        if _CHANGE.fullmatch(word):
            return not _SOURCE.fullmatch(nearest_preposition)
        if _CREATE.fullmatch(word):
            return not has_source
        if _READ.fullmatch(word):
            return False
        if _TARGET.fullmatch(word) and not nearest_preposition:
            return True
        is_source = bool(_SOURCE.fullmatch(word))
        if is_source or _LOCATION.fullmatch(word):
            nearest_preposition = nearest_preposition or word
            has_source = has_source or is_source
    return False
