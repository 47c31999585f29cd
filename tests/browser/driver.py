"""The browser as the model uses it: calls, and the state that is shown to the model."""

import re
from typing import Any

from manus.calls.invoke import observe_call
from manus.calls.result import Observation
from manus.calls.session import Session
from manus.tools.browser.browser import NAME, Browser
from manus.tools.browser.state import browser_state
from manus.tools.browser_use import BrowserUse
from tests.browser.site import Page, Site


class Driver:
    """Drives one session's browser through the tool only."""

    site: Site
    """Base URL of the test's pages."""

    def __init__(self, session: Session) -> None:
        self.session = session
        session.page_is_prompted = True
        self.tool = BrowserUse(session=session)
        self.text = ""
        """The most recent state."""

    async def do(self, action: str, **arguments: Any) -> Observation:
        return await observe_call(self.tool, {"action": action, **arguments})

    async def say(self, action: str, **arguments: Any) -> str:
        """Run an action that must succeed, and return its output."""
        observation = await self.do(action, **arguments)
        assert not observation.is_error, observation.text
        return observation.text

    async def fail(self, action: str, **arguments: Any) -> str:
        """Run an action that must fail, and return its error message."""
        observation = await self.do(action, **arguments)
        assert observation.is_error, observation.text
        return observation.text

    async def look(self) -> str:
        state = await browser_state(self.session)
        assert state is not None
        self.text = state.text
        return self.text

    async def open(self, url: str) -> str:
        await self.say("go_to_url", url=url)
        return await self.look()

    async def show(self, page: Page) -> str:
        """Open a page of the site."""
        self.site.pages["/"] = page
        return await self.open(self.site.base)

    def number(self, label: str) -> int:
        """Return the number of the only element whose line starts like this: `button "Save"`."""
        matches = re.findall(rf"(?m)(?:^ *|\| )\*?\[(\d+)\] {re.escape(label)}", self.text)
        assert len(matches) == 1, f"{label!r} occurs {len(matches)} times in:\n{self.text}"
        return int(matches[0])

    def line(self, label: str) -> str:
        """Return the line of an element, without its number."""
        number = self.number(label)
        match = re.search(rf"(?m)(?:^ *|\| )\*?\[{number}\] (.*?)(?: \| \*?\[.*)?$", self.text)
        assert match is not None
        return match[1]

    async def click(self, label: str) -> str:
        output = await self.say("click_element", index=self.number(label))
        await self.look()
        return output

    async def write(self, label: str, text: str) -> str:
        output = await self.say("input_text", index=self.number(label), text=text)
        await self.look()
        return output

    @property
    def browser(self) -> Browser:
        browser = self.session.peek(NAME)
        assert isinstance(browser, Browser)
        return browser
