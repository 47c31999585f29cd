"""Fitting arguments to a tool's schema: names that are nearly right, values of another type."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from manus.models.repair_names import meant, words_of
from manus.models.repair_text import accepts, arguments_in, types_of

_WHOLE = re.compile(r"[+-]?\d+(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_ASIDES = frozenset(
    {"reason", "reasoning", "rationale", "explanation", "description", "thought", "thoughts"}
    | {"thinking", "comment", "comments", "note", "notes", "summary", "purpose", "goal", "intent"}
)
"""Words for what a model says beside a call: no argument is meant by them."""
_NOT = frozenset(
    {"no", "not", "non", "without", "except", "exclude", "excluded", "ignore", "ignored", "skip"}
)
_TURNS = _NOT | frozenset(
    {"old", "new", "previous", "original", "source", "target", "destination", "dest", "from", "to"}
    | {"before", "after", "until", "since", "min", "max", "start", "end", "first", "last", "input"}
    | {"output", "prefix", "suffix", "backup"}
)
"""Words that make another argument of one."""
_SHORT = 3
"""Letters of a word's beginning that stand for it."""
_LONGEST = 300
"""Digits of a number that is converted."""


def fitted(args: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The arguments with names and values as the schema wants them, and what was changed.

    What does not fit and has no single reading stays as it is; the schema then says what is wrong.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    notes: list[str] = []
    renamed: dict[str, Any] = {}
    names = {name: _renamed(name, value, args, schema) for name, value in args.items()}
    taken = list(names.values())
    for name, value in args.items():
        new = names[name]
        if new != name and taken.count(new) == 1:
            notes.append(f"the argument `{name}` was read as `{new}`")
            renamed[new] = value
        else:
            renamed[name] = value
    for name, value in renamed.items():
        fit = _fit(value, properties[name]) if name in properties else value
        if fit is not value:
            notes.append(f"`{name}`: {value!r:.60} was read as {fit!r:.60}")
            renamed[name] = fit
    return renamed, notes


def _renamed(name: str, value: Any, args: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if name in properties or not properties or schema.get("additionalProperties"):
        return name
    free = [known for known in properties if known not in args]
    if (found := meant(name, free)) is not None:
        return found
    contained = [known for known in free if _is_contained(name, known)]
    if len(contained) == 1 and accepts(properties[contained[0]], value):
        return contained[0]
    unknown = [given for given in args if given not in properties]
    missing: list[str] = [known for known in schema.get("required", ()) if known in free]
    if len(unknown) == len(missing) == 1 and _may_stand_for(name, missing[0]):
        # the one that is too many is the one that is not there
        return missing[0] if accepts(properties[missing[0]], value) else name
    return name


def _may_stand_for(name: str, missing: str) -> bool:
    """Whether a name says nothing against its meaning one that is like it in nothing else."""
    akin = set(words_of(name)) & set(words_of(missing))
    return not _says_other(name, missing, _ASIDES | (_TURNS if akin else _NOT))


def _is_contained(name: str, known: str) -> bool:
    words = set(words_of(name))
    other = _says_other(name, known, _ASIDES | _TURNS) or _says_other(known, name, _TURNS)
    return bool(words) and not other and _overlaps(words, set(words_of(known)))


def _says_other(name: str, known: str, words: frozenset[str]) -> bool:
    """Whether a name has one of these words, and the other name has it not."""
    return bool(words & (set(words_of(name)) - set(words_of(known))))


def _overlaps(one: set[str], other: set[str]) -> bool:
    """`file_path` and `path`, `old_string` and `old_str`: each word of the one is in the other."""
    return bool(other) and (_within(one, other) or _within(other, one))


def _within(one: set[str], other: set[str]) -> bool:
    return all(any(_alike(word, known) for known in other) for word in one)


def _alike(word: str, known: str) -> bool:
    shorter, longer = sorted((word, known), key=len)
    return word == known or (len(shorter) >= _SHORT and longer.startswith(shorter))


def _fit(value: Any, about: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return _fit_text(value, about)
    if isinstance(value, list | dict):
        return _fit_inside(value, about)
    if isinstance(value, float) and "integer" in types_of(about) and value.is_integer():
        return value if "number" in types_of(about) else int(value)
    return value


def _fit_inside(value: Any, about: Mapping[str, Any]) -> Any:
    """A list or an object with what is in it as the schema wants it; the same one if it is so."""
    if isinstance(value, list):
        items = about.get("items")
        inner = [_fit(one, items) for one in value] if isinstance(items, dict) else value
        same = all(new is old for new, old in zip(inner, value, strict=True))
        return value if same else inner
    known = about.get("properties", {})
    fitting = {k: _fit(v, known[k]) if k in known else v for k, v in value.items()}
    return value if all(fitting[name] is value[name] for name in value) else fitting


def _fit_json(value: str, kinds: set[str], about: Mapping[str, Any]) -> Any:
    """A list or an object that was written as a text."""
    wanted = {"[": "array", "{": "object"}.get(value.strip()[:1])
    if wanted not in kinds:
        return value
    try:
        return _fit(arguments_in(value), about)
    except (ValueError, RecursionError):
        return value


def _fit_text(value: str, about: Mapping[str, Any]) -> Any:
    if choices := _choices(about):
        found = [c for c in choices if isinstance(c, str) and c.lower() == value.strip().lower()]
        return found[0] if value not in choices and len(found) == 1 else value
    kinds, bare = types_of(about), value.strip()
    if not kinds or "string" in kinds:
        return value
    if bare[:1] in ("[", "{"):
        return _fit_json(value, kinds, about)
    if len(bare) > _LONGEST:
        return value
    if "boolean" in kinds and bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    if "null" in kinds and bare.lower() in ("null", "none"):
        return None
    if "integer" in kinds and _WHOLE.fullmatch(bare):
        return int(bare.partition(".")[0])
    if "number" in kinds and _NUMBER.fullmatch(bare) and math.isfinite(float(bare)):
        return float(bare)
    return value


def _choices(about: Mapping[str, Any]) -> list[Any]:
    members = about.get("anyOf") or about.get("oneOf") or [about]
    return [choice for member in members for choice in member.get("enum", ())]
