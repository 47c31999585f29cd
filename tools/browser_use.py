"""`browser_use`: a real browser, one for each run."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel
from typing_extensions import override

from prompts.browser import USE
from state.errors import ToolError
from tools.base import AgentTool
from tools.browser.act import Outcome, act
from tools.browser.arguments import READING, BrowserArgs, missing
from tools.browser.browser import Browser, obtain_browser
from tools.browser.patience import PageStuckError
from tools.browser.screenshot import DEFAULT
from tools.browser.state import describe
from tools.locks import WORKSPACE, Touch
from tools.result import Observation
from tools.search_engines import Query
from tools.web_search import search_text

_RESULTS = 5


class BrowserUse(AgentTool):
    """Acts on web pages.

    The page itself is shown in the next-step prompt (`tools.browser.browser_state`). Where nobody
    does that, `show_page` puts it into the answers instead.
    """

    name: str = "browser_use"
    description: str = USE
    args_schema: type[BaseModel] = BrowserArgs
    time_limit: ClassVar[float] = 240.0
    show_page: bool = False

    @override
    def touches(self, args: dict[str, Any]) -> frozenset[Touch]:
        action = args.get("action")
        if action == "web_search":
            return frozenset()
        touched = {Touch("browser")}
        if action == "upload_file":
            touched.add(Touch(f"{WORKSPACE}/{args.get('path')}", write=False))
        if action == "screenshot":
            touched.add(Touch(f"{WORKSPACE}/{args.get('path') or DEFAULT}"))
        return frozenset(touched)

    @override
    def repeatable(self, args: dict[str, Any]) -> bool:
        return args.get("action") in READING

    @override
    async def observe(self, **given: Any) -> Observation:
        arguments = BrowserArgs(**given)
        if lacking := missing(arguments):
            names = " and ".join(f"`{name}`" for name in lacking)
            raise ToolError(f"`{arguments.action}` needs {names}.")
        if arguments.action == "web_search":
            query = Query(str(arguments.query), _RESULTS, "en", "us")
            return Observation(await search_text(self.session, query))
        browser, said = await obtain_browser(self.session)
        try:
            outcome = await act(self.session, browser, arguments)
        except PageStuckError:
            outcome = Outcome("The browser does not answer.", failed=True)
        return await self._observation(browser, outcome, said)

    async def _observation(self, browser: Browser, outcome: Outcome, said: str) -> Observation:
        text = f"{said}\n{outcome.text}" if said else outcome.text
        if self.show_page and not outcome.show_page and not browser.dead:
            text += "\n\n" + await describe(browser)
        return Observation(text, is_error=outcome.failed)
