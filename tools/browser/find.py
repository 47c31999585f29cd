"""Where a Chromium is on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from manus.state.errors import ToolUnavailableError

_NAMES = (
    "google-chrome",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "microsoft-edge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)


def find_browser(
    wanted: str | None, bundled: str | None, which: Callable[[str], str | None] = shutil.which
) -> str:
    """The browser to use: the one set, Playwright's own, one on the search path. Blocking.

    Raises:
        ToolUnavailableError: there is none; it says what was tried and what helps.
    """
    if wanted is not None:
        if found := which(wanted):
            return found
        raise ToolUnavailableError(
            f"The browser cannot be started: `browser.path` (MANUS_BROWSER_PATH) is {wanted}, "
            "and there is no such program."
        )
    if bundled and Path(bundled).is_file():
        return bundled
    if found := next((path for name in _NAMES if (path := which(name))), None):
        return found
    tried = ", ".join([bundled or "Playwright's own", *_NAMES])
    raise ToolUnavailableError(
        f"The browser cannot be started: no Chromium was found (tried {tried}). Install one with "
        "`playwright install chromium` or `apt install chromium`, or name one in "
        "MANUS_BROWSER_PATH."
    )
