"""Evaluate JavaScript that reads the page: V8 refuses whatever would change something."""

from __future__ import annotations

import json

from playwright.async_api import Error as PlaywrightError

from manus.config.safety_settings import mask
from manus.state.errors import ToolError
from manus.state.text import shorten
from manus.tools.browser.arguments import BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.report import ActionError, Report
from manus.tools.browser.tab import ANSWER_SECONDS, Tab, with_timeout

_MAX_CHARACTERS = 4_000
_SIDE_EFFECT = "Possible side-effect"
"""Start of V8's message about a script that would change something."""


async def evaluate(browser: Browser, tab: Tab, arguments: BrowserArgs) -> Report:
    """Return the value of a JavaScript expression as JSON.

    Raises:
        ToolError: the script would change something, fails, or the page has no DevTools session.
        PageStuckError: the script does not end.
    """
    cdp = await tab.cdp()
    if cdp is None:
        raise ToolError("The page does not respond.")
    request = {
        "expression": arguments.text or "",
        "throwOnSideEffect": True,
        "returnByValue": True,
        "timeout": ANSWER_SECONDS * 500,
    }
    try:
        answer = await with_timeout(ANSWER_SECONDS, cdp.send("Runtime.evaluate", request))
    except PlaywrightError as error:
        raise ActionError("The value cannot be returned.", str(error)[:200]) from None
    if details := answer.get("exceptionDetails"):
        message = str(details.get("exception", {}).get("description") or details.get("text"))
        if _SIDE_EFFECT in message:
            raise ToolError("`evaluate` only reads; this script would change something.")
        raise ActionError("The script failed.", shorten(message.split("\n")[0], 300))
    result = answer["result"]
    value = result.get("value", result.get("description"))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = mask(text, browser.session.settings.secrets)
    browser.session.egress_guard.read(text, tab.page.url)
    return Report("The script returned:", shorten(text, _MAX_CHARACTERS))
