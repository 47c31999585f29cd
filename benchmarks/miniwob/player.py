"""A player that perceives a page only by observations, and acts on it only with `browser_use`."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.miniwob.picture import Picture, read_png
from benchmarks.miniwob.view import Element, View
from manus.calls.invoke import observe_call
from manus.calls.session import Session
from manus.config.browser_settings import EgressSettings
from manus.config.run_settings import resolve_settings
from manus.config.settings import Settings
from manus.tools.browser.state import browser_state
from manus.tools.browser_use import BrowserUse
from manus.workspace.workspace import Workspace

MAX_ACTIONS = 120
"""Maximum number of actions in one episode."""


class ActionError(Exception):
    """An action of `browser_use` failed."""


def open_session(root: str) -> Session:
    """Return a session whose browser may open pages on loopback."""
    workspace = Workspace(root)
    workspace.prepare()
    settings = Settings(egress=EgressSettings(allow_private=("127.0.0.1",)))
    session = Session(workspace, settings=resolve_settings(settings))
    session.page_is_prompted = True
    return session


class Player:
    """Plays one episode. Each action is followed by a look, as in a run of the agent."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tool = BrowserUse(session=session)
        self.actions = 0
        self.view = View("")
        self.log: list[str] = []
        self.task = ""
        """The instruction of the episode."""
        self.message = ""
        """What the last action reported."""

    @property
    def instruction(self) -> str:
        """Return the task, which is the first text on the page."""
        return self.view.instruction

    def read(self, pattern: str) -> tuple[str, ...]:
        """Return the groups of a regular expression in the instruction.

        Raises:
            LookupError: the instruction has another form.
        """
        match = re.search(pattern, self.instruction)
        if match is None:
            raise LookupError("the instruction has another form")
        return match.groups(default="")

    def read_ordinal(self) -> int:
        """Return the index that the instruction names as "2nd"; 0 if it names none."""
        match = re.search(r"(\d+)(?:st|nd|rd|th)\b", self.instruction)
        return int(match[1]) - 1 if match else 0

    async def look(self) -> View:
        """Read the page as the next-step prompt shows it."""
        state = await browser_state(self._session)
        self.view = View(state.text if state else "")
        return self.view

    async def do(self, action: str, **arguments: Any) -> str:
        """Call the tool, and look at the page afterwards.

        Raises:
            ActionError: the action failed, or the episode has had too many.
        """
        if self.actions >= MAX_ACTIONS:
            raise ActionError(f"more than {MAX_ACTIONS} actions")
        self.actions += 1
        observation = await observe_call(self._tool, {"action": action, **arguments})
        self.message = observation.text
        self.log.append(f"{action} {arguments}: {observation.text}")
        if observation.is_error:
            raise ActionError(f"{action}: {observation.text.splitlines()[0]}")
        await self.look()
        return self.message

    async def click(self, role: str = "", name: str | None = None, hint: str = "") -> str:
        """Click the first element of a role, with a name or a hint."""
        return await self.click_on(self.view.first(role, name, hint))

    async def click_on(self, element: Element) -> str:
        return await self.do("click_element", index=element.number)

    async def click_at(self, point: tuple[float, float]) -> str:
        return await self.do("click_at", x=round(point[0]), y=round(point[1]))

    async def drag(self, start: Element, *points: tuple[float, float]) -> str:
        """Drag from the middle of an element along points of the view."""
        x, y = start.center
        return await self.drag_from((x, y), *points)

    async def drag_from(self, start: tuple[float, float], *points: tuple[float, float]) -> str:
        """Drag from one point of the view along others."""
        path = [round(number) for point in points for number in point]
        return await self.do("drag", x=round(start[0]), y=round(start[1]), to=path)

    async def drag_to(self, start: Element, end: Element) -> str:
        return await self.do("drag", index=start.number, to=[end.number])

    async def picture(self) -> Picture:
        """Look at the page: take a screenshot, as for a model that sees."""
        path = "page.png"
        await self.do("screenshot", path=path)
        return read_png(self._session.workspace.readable(path).read_bytes())

    async def write(self, element: Element, text: str) -> str:
        return await self.do("input_text", index=element.number, text=text)

    async def press(self, keys: str) -> str:
        return await self.do("send_keys", keys=keys)

    async def submit(self) -> str:
        """Click the button that sends the answer."""
        return await self.click("button|tab|clickable", "submit")
