"""Pages that show something only as an image: text to select, blocks, marks of a game."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from benchmarks.miniwob.picture import Picture, Pixel
from benchmarks.miniwob.player import Player
from benchmarks.miniwob.solvers.registry import solves

_AREA = (160, 52, 205)
"""Width of the pages, and the rows below the instruction."""
_WHITE = (255, 255, 255)
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


class _TextLine(NamedTuple):
    """A line of dark text in a picture."""

    top: int
    bottom: int
    left: int
    right: int


@solves("highlight-text", "highlight-text-2")
async def highlight_paragraph(player: Player) -> None:
    """Drag from the start of a paragraph to its end, located in the screenshot."""
    paragraphs = _find_paragraphs(await player.picture())
    lines = paragraphs[player.read_ordinal()]
    start = lines[0]
    end = lines[-1]
    await player.drag_from(
        (start.left - 1, (start.top + start.bottom) / 2),
        (end.right + 3, (end.top + end.bottom) / 2),
    )
    await player.submit()


def _find_paragraphs(picture: Picture) -> list[list[_TextLine]]:
    """Group the lines of text by the gaps between them, without buttons, which are gray."""
    lines = _find_lines(picture)
    gaps = [below.top - above.bottom for above, below in pairwise(lines)]
    paragraphs = [[lines[0]]]
    for gap, line in zip(gaps, lines[1:], strict=True):
        if gap > 8:
            paragraphs.append([])
        paragraphs[-1].append(line)
    return paragraphs


def _find_lines(picture: Picture) -> list[_TextLine]:
    width, first, last = _AREA
    lines: list[_TextLine] = []
    for y in range(first, last):
        row = [picture.at(x, y) for x in range(2, width - 4)]
        is_button = Counter(row)[(239, 239, 239)] > 20
        dark = [x for x, pixel in enumerate(row, 2) if max(pixel) < 150]
        # the border of a button is one long line
        if is_button or not dark or len(dark) > 0.9 * (dark[-1] - dark[0] + 1) > 20:
            continue
        if lines and y - lines[-1].bottom <= 1:
            old = lines.pop()
            lines.append(_TextLine(old.top, y, min(old.left, dark[0]), max(old.right, dark[-1])))
        else:
            lines.append(_TextLine(y, y, dark[0], dark[-1]))
    if not lines:
        raise LookupError("the picture shows no text")
    return lines


@solves("visual-addition")
async def count_blocks(player: Player) -> None:
    """Count the blocks by their upper-left corners."""
    picture = await player.picture()
    width, first, last = _AREA
    counts = Counter(picture.at(x, y) for y in range(first, last) for x in range(width))
    colors = [pixel for pixel, _ in counts.most_common() if max(pixel) - min(pixel) > 60]
    count = _count_corners(picture, colors[0]) if colors else 0
    await player.write(player.view.first("textbox"), str(count))
    await player.submit()


def _count_corners(picture: Picture, color: Pixel) -> int:
    width, first, last = _AREA
    count = 0
    for y in range(first, last):
        for x in range(1, width):
            is_inside = picture.at(x, y) == color
            before = (picture.at(x - 1, y), picture.at(x, y - 1))
            count += is_inside and color not in before
    return count


@solves("tic-tac-toe")
async def win_game(player: Player) -> None:
    """Complete a winning line, or block one, or take the center or a corner."""
    while player.view.find(hint="ttt-"):
        squares = player.view.find(hint="ttt-")
        board = _read_board(await player.picture(), [square.center for square in squares])
        await player.click_on(squares[_choose_square(board)])
        if player.view.find(name="START"):
            return
        await player.do("wait", seconds=0.5)


def _read_board(picture: Picture, centers: list[tuple[int, int]]) -> list[str]:
    """Return the mark in each square: the strokes of an X cross in its center."""
    board = []
    for x, y in centers:
        pixels = [picture.at(x + dx, y + dy) for dx in range(-16, 17) for dy in range(-16, 17)]
        is_empty = all(pixel == _WHITE for pixel in pixels)
        board.append("" if is_empty else "O" if picture.at(x, y) == _WHITE else "X")
    return board


def _choose_square(board: list[str]) -> int:
    for mark in "XO":
        for line in _LINES:
            marks = [board[square] for square in line]
            if marks.count(mark) == 2 and "" in marks:
                return line[marks.index("")]
    free = [square for square in (4, 0, 2, 6, 8, 1, 3, 5, 7) if not board[square]]
    return max(free, key=lambda square: _count_chances(board, square))


def _count_chances(board: list[str], square: int) -> int:
    """Return how many lines through a square can still be won; started ones count twice."""
    lines = [[board[other] for other in line] for line in _LINES if square in line]
    return sum(1 + marks.count("X") for marks in lines if "O" not in marks)
