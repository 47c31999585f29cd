"""A page as the model reads it: numbered elements, and the text around them, within a limit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from manus.tools.browser.snapshot import FrameView
from manus.tools.browser.tab import Numbering, Reference

# What matters least is left out first when the room is not enough: the highest rank.
_ELEMENT, _HEADING, _NEAR, _TEXT, _NEAR_TEXT = range(5)


@dataclass(slots=True)
class Line:
    """A line of the page."""

    text: str
    rank: int
    number: int | None = None


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
            line = _element_line(item, number, numbering)
            if known is not None and number not in known:
                line.text = "*" + line.text
            lines.append(line)
    if left := view.counts.get("left"):
        lines.append(Line(f"… {left} more elements in view", _ELEMENT))
    return lines


def _text_line(item: dict[str, Any]) -> Line:
    is_near = item["place"] != "view"
    if item["heading"]:
        sign = "#" * item["heading"]
        return Line(f"{sign} {item['text']}", _NEAR_TEXT if is_near else _HEADING)
    return Line(f"| {item['text']}", _NEAR_TEXT if is_near else _TEXT)


def _frame_lines(
    view: FrameView, item: dict[str, Any], numbering: Numbering, known: Collection[int] | None
) -> list[Line]:
    inner = view.children.get(item["id"])
    head = f"frame {_quoted(item['name'])}".removesuffix(' ""')
    if inner is None or inner.trouble:
        return [Line(f"{head}: {inner.trouble if inner else 'not shown'}", _ELEMENT)]
    lines = page_lines(inner, numbering, known)
    for line in lines:
        line.text = "  " + line.text
    more = inner.scroll["height"] - inner.scroll["view"] - inner.scroll["top"]
    below = f" (scrolls, {more} px below)" if more > 12 else ""
    head = f"{head} {_clean(inner.url, 100)}{below}:"
    return [Line(head, _ELEMENT), *lines, Line("end of frame", _ELEMENT)]


def _element_line(item: dict[str, Any], number: int, numbering: Numbering) -> Line:
    name = f" {_quoted(item['name'])}" if item["name"] else ""
    if item["kind"] == "scroller":
        numbering.labels[number] = f"scroll area{name}"
        sizes = f"({item['above']} px above, {item['below']} px below)"
        return Line(f"[{number}] scroll area{name} {sizes}", _ELEMENT, number)
    numbering.labels[number] = f"{item['role']}{name}"
    parts = [f"[{number}] {item['role']}{name}"]
    if not name and item["hint"]:
        parts.append(f"(looks like: {_clean(item['hint'], 40)})")
    if item["value"] is not None and item["value"] != item["name"]:
        parts.append(f"= {_quoted(str(item['value']))}")
    if item["states"]:
        parts.append(f"({', '.join(item['states'])})")
    if item["extra"]:
        parts.append(f"[{_clean(item['extra'], 260)}]")
    if item["box"]:
        left, top, width, height = item["box"]
        parts.append(f"at {left},{top} size {width}×{height}")
    is_near = item["place"] != "view"
    if is_near:
        parts.append(f"({item['place'].removeprefix('near ')} the view)")
    return Line(" ".join(parts), _NEAR if is_near else _ELEMENT, number)


def fit(lines: list[Line], room: int) -> tuple[str, set[int]]:
    """The lines in at most `room` characters, and the numbers of the elements among them."""
    surplus = sum(len(line.text) + 1 for line in lines) - room
    left_out = 0
    kept = lines
    for rank in (_NEAR_TEXT, _TEXT, _NEAR, _HEADING, _ELEMENT):
        remaining: list[Line] = []
        for line in reversed(kept):
            if surplus <= 0 or line.rank != rank:
                remaining.append(line)
                continue
            if rank == _ELEMENT and left_out == 0:
                surplus += 40  # for the line that says so
            surplus -= len(line.text) + 1
            left_out += rank == _ELEMENT
        kept = remaining[::-1]
    if left_out:
        kept.append(Line(f"… {left_out} more elements in view, left out", _ELEMENT))
    numbers = {line.number for line in kept if line.number is not None}
    return "\n".join(line.text for line in kept), numbers


def extent(view: FrameView) -> str:
    """How much lies above and below what is in view."""
    scroll = view.scroll
    below = scroll["height"] - scroll["view"] - scroll["top"]
    parts: list[str] = []
    for pixels, side in ((scroll["top"], "above"), (below, "below")):
        screens = pixels / max(scroll["view"], 1)
        count = view.counts.get(side, 0)
        elements = f" ({count} element{'s' if count > 1 else ''})" if count else ""
        parts.append(f"{f'{screens:.1f} screens' if screens > 0.1 else 'nothing'} {side}{elements}")
    aside = scroll["width"] - scroll["across"] - scroll["left"]
    return "; ".join([*parts, *([f"{aside} px more to the right"] if aside > 20 else [])])


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _clean(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
