"""Pages on which something has to be dragged."""

from __future__ import annotations

import math
import re

from benchmarks.miniwob.colors import COLORS
from benchmarks.miniwob.player import Player
from benchmarks.miniwob.solvers.lists import scroll_area
from benchmarks.miniwob.solvers.registry import solves
from benchmarks.miniwob.view import Element

_KINDS = {"rect": "rectangles", "circle": "circles", "polygon": "triangles"}
_COLOR_NAMES = {code: name for name, code in COLORS.items() if name != "cyan"}
_DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


@solves("drag-box")
async def drag_box(player: Player) -> None:
    await player.drag_to(player.view.first("", "s"), player.view.first("", "L"))
    await player.submit()


@solves("drag-circle", "drag-single-shape")
async def drag_in_direction(player: Player) -> None:
    (name,) = player.read("(left|right|up|down) then")
    x, y = _DIRECTIONS[name]
    shape = player.view.first("circle|rect|polygon")
    center = shape.center
    await player.drag(shape, (center[0] + 20 * x, center[1] + 20 * y))
    await player.submit()


@solves("drag-items")
async def drag_item(player: Player) -> None:
    """Drag an item to the position of another one in the list."""
    name, words = player.read(r"Drag (\w+) (.*)\.")
    items = player.view.find("clickable|listitem|item")
    at = next(i for i, item in enumerate(items) if item.name == name)
    relative = {"up": at - 1, "down": at + 1, "top": 0, "bottom": len(items) - 1}
    position = re.search(r"(\d)\w\w position", words)
    if position:
        to = int(position[1]) - 1
    else:
        to = next(relative[word] for word in words.split() if word in relative)
    await player.drag_to(items[at], items[to])


@solves("drag-items-grid")
async def drag_item_in_grid(player: Player) -> None:
    name, words = player.read(r"Drag (\w+) (.*)\.")
    items = player.view.find("clickable|listitem|item")
    at = next(i for i, item in enumerate(items) if item.name == name)
    if "by one" in words:
        x, y = next(_DIRECTIONS[word] for word in words.split() if word in _DIRECTIONS)
        to = at + x + 3 * y
    else:
        rows = {"top": 0, "bottom": 2}
        columns = {"left": 0, "right": 2}
        *_, word, last_word = words.split()
        to = 3 * rows.get(word, 1) + columns.get(last_word, 1)
    await player.drag_to(items[at], items[to])


@solves("drag-sort-numbers")
async def sort_numbers(player: Player) -> None:
    """Drag each number to its position, from the top."""
    for place in range(4):
        items = _numbers(player)
        least = min(items[place:], key=lambda item: int(item.name))
        if least is not items[place]:
            await player.drag_to(least, items[place])
    await player.submit()


def _numbers(player: Player) -> list[Element]:
    return [e for e in player.view.elements if re.fullmatch(r"-?\d+", e.name)]


@solves("drag-shapes")
async def drag_shapes_into_box(player: Player) -> None:
    (kind,) = player.read(r"all (\w+) into")
    box = player.view.first("rect", hint="container")
    shapes = [
        shape
        for shape in player.view.find("circle|rect|polygon")
        if "container" not in shape.line and _KINDS[shape.role] == kind
    ]
    for shape, point in zip(shapes, _spread(box), strict=False):
        await player.drag(player.view.elements_by_number[shape.number], point)
    await player.submit()


@solves("drag-shapes-2")
async def sort_shapes_into_boxes(player: Player) -> None:
    """Drag one kind or color into one box, and everything else into the other."""
    kind, side = player.read(r"all (\w+)(?: shapes)? into the (left|right)")
    boxes = sorted(player.view.find("rect", hint="container"), key=lambda box: box.center)
    if side == "right":
        boxes.reverse()
    shapes = [s for s in player.view.find("circle|rect|polygon") if "container" not in s.line]
    places = [iter(_spread(boxes[0])), iter(_spread(boxes[1]))]
    for shape in shapes:
        fits = kind in (_KINDS.get(shape.role), _COLOR_NAMES.get(shape.color))
        point = next(places[0 if fits else 1])
        await player.drag(player.view.elements_by_number[shape.number], point)
    await player.submit()


def _spread(container: Element) -> list[tuple[float, float]]:
    """Return positions in a box, one for each of several shapes."""
    box = container.place
    columns = 3
    rows = 2
    return [
        (box.x + box.width * (column + 1) / (columns + 1), box.y + box.height * (row + 1) / 3)
        for row in range(rows)
        for column in range(columns)
    ]


@solves("draw-line")
async def draw_line(player: Player) -> None:
    x, y = player.view.first("circle").center
    across = "horizontal" in player.instruction
    ends = ((x - 25, y), (x + 25, y)) if across else ((x, y - 25), (x, y + 25))
    await player.drag_from(*ends)
    await player.submit()


@solves("draw-circle")
async def draw_circle(player: Player) -> None:
    x, y = player.view.first("circle").center
    turns = [2 * math.pi * step / 36 for step in range(37)]
    points = [(x + 25 * math.cos(turn), y + 25 * math.sin(turn)) for turn in turns]
    await player.drag_from(*points)
    await player.submit()


@solves("resize-textarea")
async def resize_field(player: Player) -> None:
    """Drag the handle in the corner of the field."""
    direction = 1 if "larger" in player.instruction else -1
    handle = player.view.first("", hint="ui-resizable-se")
    x, y = handle.center
    await player.drag(handle, (x + 20 * direction, y + 20 * direction))
    await player.submit()


@solves("daily-calendar")
async def create_event(player: Player) -> None:
    """Drag over consecutive free half hours, and name the event."""
    name = player.view.quoted[0]
    length, unit, hour, half = player.read(
        r"Create a ([\d.]+) (hour|min).* between (\d+)([AP])M and"
    )
    minutes = float(length) * {"hour": 60, "min": 1}[unit]
    halves = round(minutes / 30)
    first = 2 * (int(hour) % 12 + {"A": 0, "P": 12}[half])
    await scroll_area(player, first * 20)
    while (start := _find_start(player, first, halves)) is None:
        await scroll_area(player, 60)
    begin = player.view.first("clickable", hint=f"hh-{start})")
    end = player.view.first("clickable", hint=f"hh-{start + halves - 1})")
    x, y = end.center
    await player.drag(begin, (x + 5, y + 4))
    if not player.view.find("textbox", "Event name"):
        # The page draws the event above the half hours, and waits for the mouse's release on it:
        # move next to the half hours, which would change it.
        await player.do("hover", x=150, y=y + 4)
        await player.do("hover", x=150, y=begin.center[1] - 25)
        await player.click("clickable", "New event")
    await player.write(player.view.first("textbox", "Event name"), name)
    await player.click("button", "Create")


def _find_start(player: Player, first: int, halves: int) -> int | None:
    """Return the first of some consecutive half hours that are in view and free."""
    for start in range(first, first + 9 - halves):
        slots = range(start, start + halves)
        if all(_is_free(player, slot) for slot in slots):
            return start
    return None


def _is_free(player: Player, slot: int) -> bool:
    matches = player.view.find("clickable", hint=f"hh-{slot})")
    return any("the view)" not in element.line for element in matches)
