"""A short digest of the page after an action: two equal ones mean that nothing has changed."""

from __future__ import annotations

import hashlib

from playwright.async_api import Error as PlaywrightError

from manus.tools.browser.browser import Browser
from manus.tools.browser.patience import PageStuckError

_MAX_FRAMES = 10


async def page_fingerprint(browser: Browser, mark: int) -> str | None:
    """What the page in front shows, and the dialogs since a mark of the log, as a short digest.

    Loop detection compares it. None if the page does not answer.
    """
    tab = browser.active
    if tab is None or browser.dead:
        return None
    parts = [tab.page.url]
    parts += [h.text for h in browser.log.since(mark) if h.kind == "dialog"]
    try:
        parts.append(str(await tab.ask("digest")))
        for frame in tab.page.frames[1:_MAX_FRAMES]:
            parts.append(str(await tab.ask("digest", frame=frame)))
    except (PlaywrightError, PageStuckError):
        return None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
