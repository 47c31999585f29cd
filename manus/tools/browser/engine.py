"""Finding, starting and ending a Chromium, in a context of its own, behind the egress proxy."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser, BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from manus.config.browser_settings import BrowserSettings
from manus.execution.process import scrubbed
from manus.execution.sandbox.host_programs import find_host_program
from manus.state.errors import ToolUnavailableError
from manus.tools.browser.tab import SCRIPTS

log = logging.getLogger("manus")

T = TypeVar("T")

_START_SECONDS = 60.0
_CLOSE_SECONDS = 10.0
_FIRST_JOIN = 5_000.0
"""Milliseconds for the first try to join a running browser."""
# Nothing shall go past the proxy (names resolved here, WebRTC), and nobody is to be told that a
# browser has been started. (The last addresses answer to nobody.)
_FLAGS = (
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-sync",
    "--disable-domain-reliability",
    "--no-pings",
    "--component-updater=url-source=http://127.0.0.1:9/",
    "--gaia-url=http://127.0.0.1:9/",
    "--autofill-server-url=http://127.0.0.1:9/",
)
_NAMES = (
    "google-chrome",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "microsoft-edge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
# What a browser with windows and fonts needs besides what other programs do.
_SCREEN = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS", "XDG_", "FONTCONFIG_")


@dataclass(slots=True)
class Engine:
    """A started browser in a context of its own, and how to end as much of it as is ours."""

    context: BrowserContext
    ends: tuple[Callable[[], Awaitable[None]], ...] = ()

    async def close(self) -> None:
        """End it, by force if it does not listen: with the driver, the last, its pipe breaks."""
        for end in (self.context.close, *self.ends):
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await end()


async def start_engine(settings: BrowserSettings, proxy_url: str) -> Engine:
    """Start a browser as the settings say, or join the one they name.

    Raises:
        ToolUnavailableError: there is none, or it does not start.
    """
    playwright = await async_playwright().start()
    try:
        async with asyncio.timeout(_START_SECONDS):
            if settings.cdp_url:  # it was running before: only our context is ours to close
                browser = await _join(playwright, settings.cdp_url)
                context = await open_context(browser, settings, proxy_url)
            elif settings.profile_dir:
                folder = await asyncio.to_thread(Path(settings.profile_dir).expanduser)
                options = _context_options(settings, proxy_url)
                begin = partial(playwright.chromium.launch_persistent_context, folder, **options)
                context = await _prepared(await _started(playwright, settings, begin))
            else:
                browser = await launch(playwright, settings)
                context = await open_context(browser, settings, proxy_url)
                return Engine(context, (browser.close, playwright.stop))
            return Engine(context, (playwright.stop,))
    except BaseException as error:
        with contextlib.suppress(PlaywrightError):
            await playwright.stop()
        if isinstance(error, PlaywrightError | TimeoutError):
            why = str(error).strip().split("\n")[0] or f"not up in {_START_SECONDS:g} s"
            raise ToolUnavailableError(f"The browser could not be started: {why}") from None
        raise


async def launch(playwright: Playwright, settings: BrowserSettings) -> Browser:
    """A browser of our own, without a context."""
    return await _started(playwright, settings, playwright.chromium.launch)


async def open_context(
    browser: Browser, settings: BrowserSettings, proxy_url: str
) -> BrowserContext:
    """A context of a browser that shares nothing with another one."""
    return await _prepared(await browser.new_context(**_context_options(settings, proxy_url)))


async def _join(playwright: Playwright, url: str) -> Browser:
    """A running browser; asked twice, since one that has only just begun may leave us waiting."""
    try:
        return await playwright.chromium.connect_over_cdp(url, timeout=_FIRST_JOIN)
    except PlaywrightTimeoutError:
        return await playwright.chromium.connect_over_cdp(url)


async def _prepared(context: BrowserContext) -> BrowserContext:
    await context.add_init_script(script=f"(() => {{ {SCRIPTS['store']} openStore(); }})()")
    return context


async def _started(
    playwright: Playwright, settings: BrowserSettings, begin: Callable[..., Awaitable[T]]
) -> T:
    """Start a browser, with Chromium's own sandbox where that works.

    It does not as root, nor where users are kept from making namespaces. The browser sees no keys
    of ours; its driver is a program of ours.
    """
    bundled = playwright.chromium.executable_path
    begin = partial(
        begin,
        env=scrubbed(os.environ) | {n: v for n, v in os.environ.items() if n.startswith(_SCREEN)},
        executable_path=await asyncio.to_thread(find_browser, settings.path, bundled),
        headless=settings.headless,
        args=list(_FLAGS),
        timeout=_START_SECONDS * 1000,
    )
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    sandbox = not is_root if settings.sandbox is None else settings.sandbox
    try:
        return await begin(chromium_sandbox=sandbox)
    except PlaywrightError as error:
        if settings.sandbox is not None or is_root or "sandbox" not in str(error).lower():
            raise
        log.warning("Chromium's own sandbox does not work on this machine; going on without it")
        return await begin(chromium_sandbox=False)


def find_browser(
    wanted: str | None,
    bundled: str | None,
    which: Callable[[str], str | None] = find_host_program,
) -> str:
    """The browser to use: the one set, Playwright's own, one on the search path. Blocking.

    Raises:
        ToolUnavailableError: there is none; it says what was tried and what helps.
    """
    if wanted is None and bundled and Path(bundled).is_file():
        return bundled
    for name in _NAMES if wanted is None else (wanted,):
        if found := which(name):
            return found
    if wanted is not None:
        raise ToolUnavailableError(
            f"The browser cannot be started: `browser.path` (MANUS_BROWSER_PATH) is {wanted}, "
            "and there is no such program."
        )
    tried = ", ".join([bundled or "Playwright's own", *_NAMES])
    raise ToolUnavailableError(
        f"The browser cannot be started: no Chromium was found (tried {tried}). Install one "
        "(`playwright install chromium`, `apt install chromium`) or name it in MANUS_BROWSER_PATH."
    )


def _context_options(settings: BrowserSettings, proxy_url: str) -> dict[str, Any]:
    return {
        "proxy": {"server": proxy_url, "bypass": "<-loopback>"},
        "viewport": {"width": settings.width, "height": settings.height},
        "locale": settings.locale,
    }
