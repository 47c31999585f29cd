"""Link the user's packages and browsers from the `$HOME` of a run's programs. Blocking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from manus.sandbox.environment.tools import find_playwright_browsers, find_user_packages


def link_user_packages(home: Path) -> None:
    """Let Python find packages of `pip install --user`, and install others next to them."""
    for packages in find_user_packages(Path.home()):
        target = home / packages.relative_to(Path.home())
        target.mkdir(parents=True)
        (target / "user.pth").write_text(f"{packages}\n")


def link_browsers(home: Path, environ: Mapping[str, str]) -> None:
    """Let Playwright find its installed browsers, and install others next to them."""
    cache = home / ".cache" / "ms-playwright"
    for browser in find_playwright_browsers(Path.home(), environ):
        cache.mkdir(parents=True, exist_ok=True)
        (cache / browser.name).symlink_to(browser)
