"""Where a Chromium is on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from manus.state.errors import ToolUnavailableError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_CHROME = (
    "/opt/google/chrome/chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)


@dataclass(frozen=True, slots=True)
class Program:
    """A browser's program, and whether it came with Playwright."""

    path: str
    bundled: bool = False


def find_browser(
    wanted: str | None,
    bundled: str | None,
    which: Callable[[str], str | None] = shutil.which,
    chrome: tuple[str, ...] = _CHROME,
) -> Program:
    """The browser to use: the one set, Playwright's own, Chrome, one on the search path. Blocking.

    Raises:
        ToolUnavailableError: there is none; it says what was tried and what helps.
    """
    if wanted is not None:
        path = wanted if Path(wanted).is_file() else which(wanted)
        if path is None:
            raise ToolUnavailableError(
                f"The browser cannot be started: `browser.path` (MANUS_BROWSER_PATH) is {wanted}, "
                "and there is no such program."
            )
        return Program(path)
    if bundled and Path(bundled).is_file():
        return Program(bundled, bundled=True)
    installed = [path for path in chrome if Path(path).is_file()]
    found = installed or [path for name in _NAMES if (path := which(name))]
    if found:
        return Program(found[0])
    tried = ", ".join([bundled or "Playwright's own", "Chrome", *_NAMES])
    raise ToolUnavailableError(
        f"The browser cannot be started: no Chromium was found (tried {tried}). Install one with "
        "`playwright install chromium` or `apt install chromium`, or name one in "
        "MANUS_BROWSER_PATH."
    )
