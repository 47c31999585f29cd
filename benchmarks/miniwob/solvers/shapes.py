"""Pages with colors, shapes and points, solved from positions in the observation or from images."""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchmarks.miniwob.colors import COLORS, channels
from benchmarks.miniwob.player import Player
from benchmarks.miniwob.solvers.registry import solves
from benchmarks.miniwob.view import Box, Element

_SHAPES = {"rectangle": "rect", "circle": "circle", "triangle": "polygon"}


@solves("click-color")
async def click_same_color(player: Player) -> None:
    samples = player.view.find("clickable", hint="query-color")
    if samples:
        color = samples[0].color
    else:
        (name,) = player.read(r"the (\w+) colored box")
        color = COLORS[name]
    boxes = player.view.find("clickable", hint="looks like: color)")
    await player.click_on(next(box for box in boxes if box.color == color))


@solves("click-shades")
async def click_shades(player: Player) -> None:
    (name,) = player.read("shades of (red|green|blue)")
    strongest = ["red", "green", "blue"].index(name)
    for box in player.view.find("clickable"):
        parts = channels(box.color)
        if parts.index(max(parts)) == strongest:
            await player.click_on(box)
    await player.submit()


@solves("click-shape")
async def click_shape(player: Player) -> None:
    description = player.instruction.removeprefix("Click on a").removeprefix("n")
    await player.click_on(find_items(player, description)[0])


@solves("count-shape")
async def count_shapes(player: Player) -> None:
    description = player.instruction.removeprefix("How many ").removesuffix("s are there?")
    await player.click("button", str(len(find_items(player, description))))


def find_items(player: Player, description: str) -> list[Element]:
    """Return the items that match a description such as "large red digit" or "blue W"."""
    *adjectives, noun = description.split()
    return [
        item
        for item in player.view.find("text|rect|circle|polygon")
        if _fits(item, adjectives, noun)
    ]


def _fits(item: Element, adjectives: list[str], noun: str) -> bool:
    is_large = item.box is not None and item.box.height > 15
    for word in adjectives:
        if word in ("large", "small") and (word == "large") != is_large:
            return False
        if word in COLORS and item.color != COLORS[word]:
            return False
    if noun in _SHAPES:
        return item.role == _SHAPES[noun]
    kinds = {
        "item": True,
        "shape": item.role != "text",
        "letter": item.role == "text" and item.name.isalpha(),
        "digit": item.role == "text" and item.name.isdigit(),
    }
    return kinds.get(noun, item.name == noun)


@solves("identify-shape")
async def identify_shape(player: Player) -> None:
    item = player.view.first("text|rect|circle|polygon")
    names = {kind: shape.capitalize() for shape, kind in _SHAPES.items()}
    kind = "Number" if item.name.isdigit() else "Letter"
    await player.click("button", names.get(item.role, kind))


@solves("ascending-numbers")
async def click_in_order(player: Player) -> None:
    """Remember the positions of the numbers: they are hidden after the first click."""
    places = {element.name: element.center for element in player.view.find("text")}
    for name in sorted(places, key=int):
        await player.click_at(places[name])


@solves("circle-center")
async def click_center(player: Player) -> None:
    await player.click_at(player.view.first("circle").center)
    await player.submit()


@solves("find-midpoint")
async def click_midpoint(player: Player) -> None:
    first, second = (circle.center for circle in player.view.find("circle"))
    await player.click_at(((first[0] + second[0]) / 2, (first[1] + second[1]) / 2))
    await player.submit()


@solves("right-angle")
async def complete_right_angle(player: Player) -> None:
    """Go from the blue point at a right angle to the line, to the side that lies on the grid."""
    vertex = _point(player, "#0000ff")
    end = _point(player, "#000000")
    across = (-(end[1] - vertex[1]), end[0] - vertex[0])
    await _click_along(player, vertex, across)
    await player.submit()


@solves("bisect-angle")
async def bisect_angle(player: Player) -> None:
    vertex = _point(player, "#0000ff")
    ends = [circle.center for circle in player.view.find("circle") if circle.color == "#000000"]
    directions = [_unit((end[0] - vertex[0], end[1] - vertex[1])) for end in ends]
    middle = (directions[0][0] + directions[1][0], directions[0][1] + directions[1][1])
    await _click_along(player, vertex, middle, backwards=False)
    await player.submit()


def _point(player: Player, color: str) -> tuple[int, int]:
    return next(c.center for c in player.view.find("circle") if c.color == color)


def _unit(vector: tuple[float, float]) -> tuple[float, float]:
    length = math.hypot(*vector) or 1
    return vector[0] / length, vector[1] / length


async def _click_along(
    player: Player,
    start: tuple[int, int],
    direction: tuple[float, float],
    backwards: bool = True,
) -> None:
    """Click as far from a point as the grid allows, to make the angle precise."""
    grid = player.view.first("svg").place
    x, y = _unit(direction)
    for length in range(100, 8, -2):
        for sign in (1, -1) if backwards else (1,):
            point = start[0] + sign * x * length, start[1] + sign * y * length
            is_inside = (
                grid.x + 4 < point[0] < grid.x + grid.width - 4
                and grid.y + 4 < point[1] < grid.y + grid.height - 4
            )
            if is_inside:
                await player.click_at(point)
                return
    raise LookupError("the grid has no room for the point")


@solves("use-colorwheel-2")
async def enter_shown_color(player: Player) -> None:
    """Read the color from the image: the instruction shows it as a block."""
    picture = await player.picture()
    counts: dict[tuple[int, int, int], int] = {}
    for y in range(48):
        for x in range(158):
            pixel = picture.at(x, y)
            counts[pixel] = counts.get(pixel, 0) + 1
    background = max(counts, key=lambda pixel: counts[pixel])
    block = max((p for p in counts if p != background and p != (0, 0, 0)), key=lambda p: counts[p])
    await player.write(player.view.first("textbox"), "{:02X}{:02X}{:02X}".format(*block))
    await player.press("Tab")
    await player.submit()


@solves("click-pie", "click-pie-nodelay")
async def click_in_pie(player: Player) -> None:
    await player.click("text")
    await player.click_at(player.view.first("text", player.view.quoted[0]).center)
    if not player.view.find(name="START"):
        raise LookupError("the page ignores a click on the entry that it has selected itself")


@solves("hot-cold")
async def find_hot_place(player: Player) -> None:
    """Move the mouse over ever finer grids, following the signal."""
    area = player.view.first("clickable", hint="touch-area").place
    middle = (area.x + area.width / 2, area.y + area.height / 2)
    radius = float(max(area.width, area.height) / 2)
    for index, (step, next_radius) in enumerate(((40, 40), (14, 10), (6, 0))):
        points = [point for point in _grid(middle, radius, step) if _contains(area, point)]
        for point in sorted(points, key=lambda point: math.dist(point, middle)):
            await player.do("hover", x=round(point[0]), y=round(point[1]))
            names = {element.name for element in player.view.elements}
            if names & {*("COLD", "WARM", "HOT")[index:]}:
                break
        middle = point
        radius = next_radius
    await player.click_at(middle)


def _grid(middle: tuple[float, float], radius: float, step: int) -> Iterator[tuple[float, float]]:
    """Yield points around another, in equal steps."""
    count = int(radius // step) + 1
    for row in range(-count, count + 1):
        for column in range(-count, count + 1):
            yield middle[0] + column * step, middle[1] + row * step


def _contains(box: Box, point: tuple[float, float]) -> bool:
    is_across = box.x < point[0] < box.x + box.width
    return is_across and box.y < point[1] < box.y + box.height
