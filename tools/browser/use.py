"""One action of `browser_use`, carried out."""

from __future__ import annotations

from manus.tools.browser.act import Outcome, act
from manus.tools.browser.arguments import BrowserArgs
from manus.tools.browser.browser import Browser, obtain_browser
from manus.tools.browser.patience import PageStuckError
from manus.tools.browser.state import describe
from manus.tools.result import Observation
from manus.tools.session import Session
from manus.tools.web.search_engines import Query
from manus.tools.web.search_text import search_text

_RESULTS = 5


async def use(session: Session, arguments: BrowserArgs) -> Observation:
    """Carry out an action in the session's browser, which is started if there is none.

    The page as it is afterwards is part of the answer unless a next-step prompt shows it.

    Raises:
        ToolError: it cannot be done; the sentence says what would be right.
    """
    if arguments.action == "web_search":
        query = Query(str(arguments.query), _RESULTS, "en", "us")
        return Observation(await search_text(session, query))
    browser, said = await obtain_browser(session)
    try:
        outcome = await act(session, browser, arguments)
    except PageStuckError:
        outcome = Outcome("The browser does not answer.", failed=True)
    return await _observation(browser, outcome, said, show_page=not session.page_is_prompted)


async def _observation(
    browser: Browser, outcome: Outcome, said: str, *, show_page: bool
) -> Observation:
    text = f"{said}\n{outcome.text}" if said else outcome.text
    if show_page and not outcome.show_page and not browser.dead:
        text += "\n\n" + await describe(browser)
    return Observation(text, is_error=outcome.failed, fingerprint=outcome.fingerprint)
