"""What a scripted policy has of the browser: the tool's text and the tool's actions, no more."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from manus.tools.browser.state import browser_state
from manus.tools.browser_use import BrowserUse

_ELEMENT = re.compile(
    r"^ *\*?\[(?P<number>\d+)\] (?P<role>.+?)(?: \"(?P<name>[^\"]*)\")?"
    r"(?: \(looks like: (?P<hint>.*?)\))?(?: = \"(?P<value>[^\"]*)\")?"
    r"(?: \((?P<states>[^()]*)\))?(?: \[(?P<extra>.*)\])?"
    r"(?: at (?P<x>-?\d+),(?P<y>-?\d+) size (?P<w>\d+)×(?P<h>\d+))?(?: \(\w+ the view\))?$"
)


@dataclass
class Element:
    number: int
    role: str
    name: str
    hint: str
    value: str
    states: str
    extra: str
    box: tuple[int, int, int, int]
    line: int

    @property
    def middle(self) -> tuple[int, int]:
        x, y, w, h = self.box
        return x + w // 2, y + h // 2


@dataclass
class View:
    """A parsed state: the elements, the texts, and all of it line by line."""

    task: str = ""
    elements: list[Element] = field(default_factory=list)
    texts: list[tuple[int, str]] = field(default_factory=list)

    def named(self, name: str, *roles: str) -> list[Element]:
        return [e for e in self.elements if e.name == name and (not roles or e.role in roles)]

    def of(self, *roles: str) -> list[Element]:
        return [e for e in self.elements if e.role in roles]


def parse(text: str, task: str = "") -> View:
    view = View(task)
    for place, line in enumerate(text.splitlines()):
        if match := _ELEMENT.match(line):
            parts = {k: v or "" for k, v in match.groupdict().items()}
            box = tuple(int(parts[k] or 0) for k in "xywh")
            view.elements.append(
                Element(
                    int(parts["number"]),
                    parts["role"],
                    parts["name"],
                    parts["hint"],
                    parts["value"],
                    parts["states"],
                    parts["extra"],
                    box,  # type: ignore[arg-type]
                    place,
                )
            )
        elif line.lstrip().startswith(("| ", "#")):
            view.texts.append((place, line.strip().lstrip("|#").strip()))
    return view


class Player:
    """One episode of one task."""

    def __init__(self, tool: BrowserUse) -> None:
        self.tool = tool
        self.view = View()
        self.task = ""

    async def look(self) -> View:
        state = await browser_state(self.tool.session)
        text = state.text if state else ""
        if "Last reward:" in text:
            head, _, rest = text.partition("| Last reward:")
            text = head + "\n".join(rest.splitlines()[4:])
        self.view = parse(text.partition("\nPage: ")[2], self.task)
        return self.view

    async def begin(self) -> None:
        await self.click(self.view.named("START")[0])
        await self.look()
        self.task = self.view.texts[0][1] if self.view.texts else ""
        self.view.task = self.task

    async def do(self, action: str, **arguments: Any) -> str:
        said = (await self.tool.observe(action=action, **arguments)).text
        await self.look()
        return said

    async def click(self, element: Element) -> None:
        await self.do("click_element", index=element.number)

    async def press(self, name: str) -> None:
        """Click the button of that name, in any letter case."""
        found = [e for e in self.view.elements if e.name.lower() == name.lower()]
        buttons = [e for e in found if e.role == "button"] or found
        await self.click(buttons[-1])

    async def type(self, element: Element, text: str) -> None:
        await self.do("input_text", index=element.number, text=text)

    def wanted(self, pattern: str) -> list[str]:
        """The groups of a pattern in the task's words."""
        match = re.search(pattern, self.task)
        assert match, f"{pattern} is not in {self.task}"
        return [group or "" for group in match.groups()]

    def quoted(self) -> list[str]:
        return re.findall(r'"([^"]*)"', self.task)
