"""A page as the model reads it: numbered elements, and the text around them, within a limit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from manus.tools.browser.numbering import Numbering, Reference
from manus.tools.browser.snapshot import FrameView

_SCREEN_ROOM = 0.1


@dataclass(slots=True)
class Line:
    """A line of the page. What matters least is left out first: the highest `rank`."""

    text: str
    rank: int
    number: int | None = None
    short: str | None = None
    """What is left of it when there is not enough room."""


# In the order in which they are given up when the room is not enough.
_ELEMENT, _FRAME, _HEADING, _NEAR, _TEXT, _NEAR_TEXT = range(6)


def page_lines(view: FrameView, numbering: Numbering, known: Collection[int] | None) -> list[Line]:
    """The lines of a frame and those inside it. Elements not `known` yet are marked as new."""
    lines: list[Line] = []
    for item in view.items:
        if item["kind"] == "text":
            lines.append(_text_line(item))
        elif item["kind"] == "frame":
            lines.extend(_frame_lines(view, item, numbering, known))
        else:
            number = numbering.number(Reference(view.frame, view.token, item["id"]))
            is_new = known is not None and number not in known
            lines.append(_element_line(item, number, is_new))
    if left := view.counts.get("left"):
        lines.append(Line(f"… {left} more elements in view", _FRAME))
    return lines


def _text_line(item: dict[str, Any]) -> Line:
    text = item["text"]
    near = item["place"] != "view"
    if item["heading"]:
        return Line(f"{'#' * item['heading']} {text}", _NEAR_TEXT if near else _HEADING)
    short = f"| {text[:79]}…" if len(text) > 100 else None
    return Line(f"| {text}", _NEAR_TEXT if near else _TEXT, short=short)


def _frame_lines(
    view: FrameView, item: dict[str, Any], numbering: Numbering, known: Collection[int] | None
) -> list[Line]:
    inner = view.children.get(item["id"])
    name = f" {_quoted(item['name'])}" if item["name"] else ""
    if inner is None:
        return [Line(f"frame{name}: not shown", _FRAME)]
    where = _clean(inner.url, 100)
    if inner.trouble:
        return [Line(f"frame{name} {where}: {inner.trouble}", _FRAME)]
    lines = page_lines(inner, numbering, known)
    for line in lines:
        line.text = "  " + line.text
        line.short = "  " + line.short if line.short else None
    more = inner.scroll["height"] - inner.scroll["view"] - inner.scroll["top"]
    below = f" (scrolls, {more} px below)" if more > 12 else ""
    head = Line(f"frame{name} {where}{below}:", _FRAME)
    foot = Line("end of frame", _FRAME)
    return [head, *lines, foot] if lines else [Line(f"{head.text} empty", _FRAME)]


def _element_line(item: dict[str, Any], number: int, is_new: bool) -> Line:
    mark = "*" if is_new else ""
    if item["kind"] == "scroller":
        name = f" {_quoted(item['name'])}" if item["name"] else ""
        text = f"[{number}] scroll area{name} ({item['above']} px above, {item['below']} px below)"
        return Line(mark + text, _ELEMENT, number)
    parts = [f"{mark}[{number}] {item['role']}"]
    parts.append(_quoted(item["name"]) if item["name"] else "")
    if not item["name"] and item["hint"]:
        parts.append(f"(looks like: {_clean(item['hint'], 40)})")
    if item["value"] is not None and item["value"] != item["name"]:
        parts.append(f"= {_quoted(str(item['value']))}")
    if item["states"]:
        parts.append(f"({', '.join(item['states'])})")
    short = " ".join(part for part in parts if part)
    if item["extra"]:
        parts.append(f"[{_clean(item['extra'], 260)}]")
    if item["box"]:
        left, top, width, height = item["box"]
        parts.append(f"at {left},{top} size {width}×{height}")
    near = item["place"] != "view"
    if near:
        parts.append(f"({item['place'].removeprefix('near ')} the view)")
    text = " ".join(part for part in parts if part)
    return Line(text, _NEAR if near else _ELEMENT, number, short=short if short != text else None)


def fit(lines: list[Line], room: int) -> tuple[str, set[int]]:
    """The lines in at most `room` characters, and the numbers of the elements among them."""
    kept = list(lines)
    for rank in (_NEAR_TEXT, None, _TEXT, _NEAR, _HEADING):
        if _size(kept) <= room:
            break
        if rank is None:
            kept = [Line(line.short or line.text, line.rank, line.number) for line in kept]
        else:
            kept = _drop(kept, rank, room)
    left_out = 0
    while kept and _size(kept) > room - (40 if left_out else 0):
        left_out += kept.pop().number is not None
    if left_out:
        kept.append(Line(f"… {left_out} more elements in view, left out", _FRAME))
    numbers = {line.number for line in kept if line.number is not None}
    return "\n".join(line.text for line in kept), numbers


def _drop(lines: list[Line], rank: int, room: int) -> list[Line]:
    """Without lines of a rank, from the end, until the rest fits or none of that rank is left."""
    surplus = _size(lines) - room
    kept: list[Line] = []
    for line in reversed(lines):
        if line.rank == rank and surplus > 0:
            surplus -= len(line.text) + 1
        else:
            kept.append(line)
    return kept[::-1]


def _size(lines: list[Line]) -> int:
    return sum(len(line.text) + 1 for line in lines)


def extent(view: FrameView) -> str:
    """How much lies above and below what is in view."""
    scroll, counts = view.scroll, view.counts
    below = scroll["height"] - scroll["view"] - scroll["top"]
    parts = [
        f"{_screens(pixels, scroll['view'])} {side}" + _of_elements(counts.get(side, 0))
        for pixels, side in ((scroll["top"], "above"), (below, "below"))
    ]
    aside = scroll["width"] - scroll["across"] - scroll["left"]
    if aside > 20:
        parts.append(f"{aside} px more to the right")
    return "; ".join(parts)


def _of_elements(count: int) -> str:
    if not count:
        return ""
    return f" ({count} element{'s' if count > 1 else ''})"


def _screens(pixels: int, view: int) -> str:
    screens = pixels / max(view, 1)
    if screens < _SCREEN_ROOM:
        return "nothing"
    return f"{screens:.1f} screens" if screens >= 1.05 or screens < 0.95 else "1 screen"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _clean(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
