"""The shape of a JSON text: keys, types, lengths and samples, as deep as there is room."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_LOOKED = 8 * 2**20
"""Characters that are read; of a longer text its beginning."""
_DEPTH = 6
_BREAKS = 12
"""Levels into which a value is followed that is broken, or goes on behind what is read."""
_SAMPLED = (1_000, 100, 10)
"""Elements of an array that are looked at, by its depth."""
_MANY = 40
"""Keys from which on an object is taken for a table of alike values."""
_EXAMPLES = 2
_SHOWN = 32
_LEAST_LINES = 5
_OBJECTS = 20_000
"""Lines of JSON that are looked at."""
_SURE = 0.5
"""Part of a broken text that must be JSON for it to count as such."""
_TRAILING = 0.1
"""Part of a text that is JSON that may stand behind it: lines of JSON are another kind."""
_SPACE = " \t\r\n"

_decode = json.JSONDecoder(strict=False).raw_decode


@dataclass(slots=True)
class Shape:
    """What the values at one place have in common."""

    count: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    fields: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None
    in_part: bool = False
    """Not all elements of its arrays were looked at."""
    sizes: list[int] = field(default_factory=lambda: [0, 0])
    span: tuple[float, float] | None = None
    examples: list[str] = field(default_factory=list)

    def take(self, value: Any, depth: int = 0) -> Shape:
        """Take one more value into account."""
        self.count += 1
        kind = kind_of(value)
        self.kinds[kind] += 1
        if isinstance(value, dict):
            self._take_object(value, depth)
        elif isinstance(value, list):
            self._take_array(value, depth)
        elif kind == "text":
            self._take_example(value)
        elif kind in ("integer", "number") and value == value:  # NaN has no place in a span
            low, high = self.span or (value, value)
            self.span = (min(low, value), max(high, value))
        return self

    def _take_object(self, value: Mapping[str, Any], depth: int) -> None:
        if depth < _DEPTH:
            for key in list(value)[: 50 * _MANY]:
                self.fields.setdefault(key, Shape()).take(value[key], depth + 1)

    def _take_array(self, value: Sequence[Any], depth: int) -> None:
        fewest, most = self.sizes if self.kinds["array"] > 1 else (len(value), len(value))
        self.sizes = [min(fewest, len(value)), max(most, len(value))]
        if depth < _DEPTH and value:
            most = _SAMPLED[min(depth, len(_SAMPLED) - 1)]
            self.in_part |= len(value) > most
            self.items = self.items or Shape()
            for item in spread(value, most):
                self.items.take(item, depth + 1)

    def _take_example(self, value: str) -> None:
        if len(self.examples) < _EXAMPLES:
            short = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
            quoted = json.dumps(short, ensure_ascii=False)
            if quoted not in self.examples:
                self.examples.append(quoted)


def json_shape(text: str, room: int) -> list[str]:
    """The shape of a text that is one JSON value; nothing if it is not."""
    begin = len(text) - len(text.lstrip(_SPACE))
    if text[begin : begin + 1] not in ("{", "["):
        return []
    part = text[:_LOOKED]
    value, end, whole = partial(part, begin)
    if not value or (end - begin) < _SURE * (len(part) - begin):
        return []
    rest = text[end:].strip() if whole else ""
    if len(rest) > _TRAILING * end:
        return []
    note = f"; behind it {len(rest):,} characters that are no part of it" if rest else ""
    if not whole:
        cut = len(text) > _LOOKED and end > _LOOKED * 0.9
        line = part.count("\n", 0, end) + 1
        note = (
            f"; the first {end:,} of {len(text):,} characters were looked at"
            if cut
            else f"; broken at character {end:,} (line {line:,}), what stands before it"
        )
    return rendered(Shape().take(value), f"JSON{note}", room)


def json_lines_shape(text: str, room: int) -> list[str]:
    """The shape of a text with a JSON object, or array, on each line; nothing if it is not."""
    first = [line for line in text[:65_536].split("\n", 50)[:-1] if line.strip()]
    opened = first[0].lstrip()[0] if first else ""
    if len(first) < _LEAST_LINES or opened not in ("{", "["):
        return []
    if not all(line.lstrip().startswith(opened) for line in first):
        return []
    shape, broken = Shape(), 0
    part = text if len(text) <= _LOOKED else text[: text.rfind("\n", 0, _LOOKED)]
    for line in part.split("\n"):
        try:
            value = json.loads(line, strict=False) if line.strip() else None
        except (ValueError, RecursionError):
            broken += 1
            continue
        if isinstance(value, dict if opened == "{" else list):
            shape.take(value, 1)
            if shape.count >= _OBJECTS:
                part = part[:0]
                break
    if shape.count < _LEAST_LINES or broken > 0.05 * shape.count:
        return []
    lines = text.count("\n") + (not text.endswith("\n"))
    title = f"JSON lines: {lines:,}"
    title += f", {broken:,} of them broken" if broken else ""
    if len(part) < len(text):
        title += f"; the first {shape.count:,} were looked at"
    return rendered(shape, title, room)


def partial(text: str, begin: int, depth: int = 0) -> tuple[Any, int, bool]:
    """The value at a place, the place behind it, and whether it is whole.

    Of a value that is broken, or ends with the text, what stands before the break.
    """
    try:
        value, end = _decode(text, begin)
        return value, end, True
    except (ValueError, RecursionError):
        pass
    opened = text[begin : begin + 1]
    if opened not in ("{", "[") or depth >= _BREAKS:
        return None, begin, False
    return _broken(text, begin, depth, is_object=opened == "{")


def _broken(text: str, begin: int, depth: int, *, is_object: bool) -> tuple[Any, int, bool]:
    found: Any = {} if is_object else []
    place = end = begin + 1
    while True:
        place = _behind_space(text, place)
        key = ""
        if is_object:
            key, place, whole = partial(text, place, _BREAKS)
            place = _behind_space(text, place)
            if not whole or not isinstance(key, str) or text[place : place + 1] != ":":
                return found, end, False
            place = _behind_space(text, place + 1)
        value, place, whole = partial(text, place, depth + 1)
        if whole or value:
            end = place
            _put(found, key, value)
        place = _behind_space(text, place)
        if not whole or text[place : place + 1] != ",":
            return found, end, False
        place += 1


def _put(found: Any, key: str, value: Any) -> None:
    if isinstance(found, dict):
        found[key] = value
    else:
        found.append(value)


def _behind_space(text: str, place: int) -> int:
    while text[place : place + 1] and text[place] in _SPACE:
        place += 1
    return place


def kind_of(value: Any) -> str:
    """The type of a value in a word."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true/false"
    names = {int: "integer", float: "number", str: "text", list: "array"}
    return names.get(type(value), "object")


def spread(values: Sequence[Any], most: int) -> Iterator[Any]:
    """So many of the values, evenly, the first and the last among them."""
    if len(values) <= most:
        yield from values
        return
    for place in range(most):
        yield values[place * (len(values) - 1) // (most - 1)]


def rendered(shape: Shape, title: str, room: int) -> list[str]:
    """The shape in lines, as deep as they find room."""
    lines: list[str] = []
    for depth in range(_DEPTH, 0, -1):
        lines = [f"{title}: {words_of(shape)}" if title else words_of(shape)]
        lines += _inside(shape, "  ", depth)
        if sum(map(len, lines)) + len(lines) <= room:
            break
    return lines


def _inside(shape: Shape, indent: str, depth: int) -> Iterator[str]:
    if depth == 0:
        return
    if len(shape.fields) > _MANY:
        yield from _as_table(shape, indent, depth)
        return
    for key, held in shape.fields.items():
        some = f" (in {held.count:,} of {shape.kinds['object']:,})"
        missing = some if held.count < shape.kinds["object"] else ""
        yield f"{indent}{_key(key)}: {words_of(held)}{missing}"
        yield from _inside(held, f"{indent}  ", depth - 1)
    if shape.items is not None:
        yield from _inside(shape.items, indent, depth)


def _as_table(shape: Shape, indent: str, depth: int) -> Iterator[str]:
    """Keys that are data themselves: a few of them, and what their values have in common."""
    names = ", ".join(map(_key, list(shape.fields)[:8]))
    yield f"{indent}keys such as {names}"
    held = Shape()
    for one in shape.fields.values():
        _merge(held, one)
    yield f"{indent}each value: {words_of(held)}"
    yield from _inside(held, f"{indent}  ", depth - 1)


def _merge(into: Shape, one: Shape) -> None:
    if one.kinds["array"]:
        low, high = into.sizes if into.kinds["array"] else one.sizes
        into.sizes = [min(low, one.sizes[0]), max(high, one.sizes[1])]
        into.in_part |= one.in_part
    into.count += one.count
    into.kinds += one.kinds
    for key, held in one.fields.items():
        _merge(into.fields.setdefault(key, Shape()), held)
    if one.items is not None:
        into.items = into.items or Shape()
        _merge(into.items, one.items)
    if one.span is not None:
        low_, high_ = into.span or one.span
        into.span = (min(low_, one.span[0]), max(high_, one.span[1]))
    into.examples = [*into.examples, *one.examples][:_EXAMPLES]


def words_of(shape: Shape) -> str:
    """The types of the values at a place, with a word on each."""
    return " or ".join(_kind_words(shape, kind) for kind, _ in shape.kinds.most_common())


def _kind_words(shape: Shape, kind: str) -> str:
    if kind == "object":
        many = len(shape.fields)
        return f"object with {many:,} key{'s' * (many != 1)}" if many else "object"
    if kind == "array":
        return _array_words(shape)
    if kind == "text" and shape.examples:
        return f"text, such as {', '.join(shape.examples)}"
    if kind in ("integer", "number") and shape.span is not None:
        low, high = shape.span
        return f"{kind} {low}" if low == high else f"{kind} {low} to {high}"
    return kind


def _array_words(shape: Shape) -> str:
    low, high = shape.sizes
    size = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    if shape.items is None:
        return f"array of {size} elements" if high else "array, empty"
    part = ", looked at in part" if shape.in_part else ""
    return f"array of {size}{part}, each: {words_of(shape.items)}"


def _key(key: str) -> str:
    plain = key.isidentifier()
    short = key if len(key) <= _SHOWN else f"{key[:_SHOWN]}…"
    return short if plain else json.dumps(short, ensure_ascii=False)
