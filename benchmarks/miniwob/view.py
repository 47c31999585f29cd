"""The page as the model reads it: numbered elements and lines of text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

_ELEMENT = re.compile(
    r"^ *\*?\[(?P<number>\d+)\](?: (?P<role>[a-z][\w ]*?))?(?: (?P<color>#[0-9a-f]{6}))?"
    r'(?: "(?P<name>.*?)")?(?: (?P<late_color>#[0-9a-f]{6}))?'
    r"(?= [=(\[]| at | from |$)(?P<rest>.*)$"
)
_NEXT_IN_ROW = re.compile(r" \| (?=\*?\[\d+\])")
_BOX = re.compile(r" at (-?\d+),(-?\d+) size (\d+)×(\d+)")
_VALUE = re.compile(r' = "(.*?)"(?= [(\[]|$)')
_TEXT = re.compile(r"^ *(?:\||#+) (.*)$")


@dataclass(frozen=True)
class Line:
    """A line of the page: a text, or an element with its number."""

    text: str
    number: int | None = None


class Box(NamedTuple):
    """A rectangle on the page, in pixels of the view."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Element:
    """A numbered line of the page: `[3] checkbox "Milk" (unchecked)`."""

    number: int
    role: str
    name: str
    line: str
    value: str
    color: str
    """As `#rrggbb`; empty if the line has none."""
    box: Box | None
    position: int
    """Index of its line on the page."""

    @property
    def place(self) -> Box:
        """Return its box.

        Raises:
            LookupError: the line does not contain its position.
        """
        if self.box is None:
            raise LookupError(f"the page does not show the place of {self.line}")
        return self.box

    @property
    def center(self) -> tuple[int, int]:
        """Return its middle, in pixels of the view."""
        return self.place.x + self.place.width // 2, self.place.y + self.place.height // 2

    def has(self, state: str) -> bool:
        """Return whether the line names a state, such as `checked`."""
        return re.search(rf"[(,] ?{re.escape(state)}[,)]", self.line) is not None


class View:
    """One look at a page: the only source of a solver's knowledge."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.elements: list[Element] = []
        self.lines: list[Line] = []
        for line in _NEXT_IN_ROW.sub("\n", text).splitlines():
            if match := _ELEMENT.match(line):
                self._add(match)
            elif match := _TEXT.match(line):
                self.lines.append(Line(match[1]))

    def _add(self, match: re.Match[str]) -> None:
        value = _VALUE.search(match["rest"])
        box = _BOX.search(match["rest"])
        element = Element(
            number=int(match["number"]),
            role=match["role"] or "clickable",  # in a row of a table
            name=match["name"] or "",
            line=match[0].strip(),
            value=value[1] if value else "",
            color=match["color"] or match["late_color"] or "",
            box=Box(*map(int, box.groups())) if box else None,
            position=len(self.lines),
        )
        self.elements.append(element)
        self.lines.append(Line(element.line, element.number))

    def find(self, role: str = "", name: str | None = None, hint: str = "") -> list[Element]:
        """Return the elements of a role (a regular expression), with a name, with a hint."""
        matches = []
        for element in self.elements:
            is_named = name is None or element.name.strip().lower() == name.strip().lower()
            is_role = not role or re.fullmatch(role, element.role)
            if is_role and is_named and hint in element.line:
                matches.append(element)
        return matches

    def first(self, role: str = "", name: str | None = None, hint: str = "") -> Element:
        """Return the first such element.

        Raises:
            LookupError: the page shows none.
        """
        matches = self.find(role, name, hint)
        if not matches:
            raise LookupError(f"the page shows no {role or 'element'} {name or hint!r}".rstrip())
        return matches[0]

    @property
    def elements_by_number(self) -> dict[int, Element]:
        return {element.number: element for element in self.elements}

    def position(self, number: int) -> int:
        """Return the index of the line of an element.

        Raises:
            LookupError: the page does not show it.
        """
        elements = self.elements_by_number
        if number not in elements:
            raise LookupError(f"the page no longer shows [{number}]")
        return elements[number].position

    @property
    def instruction(self) -> str:
        """Return the first text of the page."""
        return next((line.text for line in self.lines if line.number is None), "")

    @property
    def quoted(self) -> list[str]:
        """Return the quoted parts of the instruction."""
        return re.findall(r'"(.*?)"', self.instruction)

    def texts(self) -> list[str]:
        """Return the lines of text after the instruction."""
        return [line.text for line in self.lines if line.number is None][1:]
