"""Find, start and end a Chromium with its own context, behind the egress proxy."""

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
from manus.sandbox.host_programs import find_host_program
from manus.sandbox.process import build_host_environment
from manus.state.errors import ToolUnavailableError
from manus.tools.browser.tab import SCRIPTS

log = logging.getLogger("manus")

T = TypeVar("T")

_START_SECONDS = 60.0
_CLOSE_SECONDS = 10.0
_FIRST_CONNECT_TIMEOUT = 5_000.0
"""Milliseconds for the first attempt to connect to a running browser."""
# Chromium uses only the last `--disable-features`, so the features that Playwright disables are
# repeated.
_PLAYWRIGHT_DISABLES = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "TcpPortRandomizationWin",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    "msForceBrowserSignIn",
    "msEdgeUpdateLaunchServicesPreferredVersion",
)
# Otherwise the address bar of each window loads two pages, which takes 0.7 s of CPU time.
_POPUPS = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")
# Nothing may bypass the proxy (DNS lookups, WebRTC), and Chromium must not contact its vendor.
# (Nothing listens on the last addresses.)
_FLAGS = (
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-sync",
    "--disable-domain-reliability",
    "--no-pings",
    "--component-updater=url-source=http://127.0.0.1:9/",
    "--gaia-url=http://127.0.0.1:9/",
    "--autofill-server-url=http://127.0.0.1:9/",
    f"--disable-features={','.join((*_PLAYWRIGHT_DISABLES, *_POPUPS))}",
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
# Variables that a browser needs in addition to those of other programs, for windows and fonts.
_DISPLAY_VARIABLES = (
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS",
    "XDG_",
    "FONTCONFIG_",
)


@dataclass(slots=True)
class Engine:
    """A browser context, and the functions that stop what was started for it."""

    context: BrowserContext
    ends: tuple[Callable[[], Awaitable[None]], ...] = ()

    async def close(self) -> None:
        """Close the context, the browser and the driver, which kills a browser that hangs."""
        for stop in (self.context.close, *self.ends):
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await stop()


async def start_engine(settings: BrowserSettings, proxy_url: str) -> Engine:
    """Start a browser according to the settings, or connect to the one that they name.

    Raises:
        ToolUnavailableError: no browser was found, or it does not start.
    """
    playwright = await async_playwright().start()
    try:
        async with asyncio.timeout(_START_SECONDS):
            if settings.cdp_url:  # it was already running: close only our context
                browser = await _connect(playwright, settings.cdp_url)
                context = await open_context(browser, settings, proxy_url)
            elif settings.profile_dir:
                folder = await asyncio.to_thread(Path(settings.profile_dir).expanduser)
                options = _context_options(settings, proxy_url)
                start = partial(playwright.chromium.launch_persistent_context, folder, **options)
                context = await _prepare(await _start(playwright, settings, start))
            else:
                browser = await launch(playwright, settings)
                context = await open_context(browser, settings, proxy_url)
                return Engine(context, (browser.close, playwright.stop))
            return Engine(context, (playwright.stop,))
    except BaseException as error:
        with contextlib.suppress(PlaywrightError):
            await playwright.stop()
        if isinstance(error, PlaywrightError | TimeoutError):
            why = str(error).strip().split("\n")[0] or f"not ready in {_START_SECONDS:g} s"
            raise ToolUnavailableError(f"Cannot start the browser: {why}") from None
        raise


async def launch(playwright: Playwright, settings: BrowserSettings) -> Browser:
    """Start a browser without a context."""
    return await _start(playwright, settings, playwright.chromium.launch)


async def open_context(
    browser: Browser, settings: BrowserSettings, proxy_url: str
) -> BrowserContext:
    """Open an isolated context of a browser."""
    return await _prepare(await browser.new_context(**_context_options(settings, proxy_url)))


async def _connect(playwright: Playwright, url: str) -> Browser:
    """Connect to a running browser; retry once, since one that is starting may not respond."""
    try:
        return await playwright.chromium.connect_over_cdp(url, timeout=_FIRST_CONNECT_TIMEOUT)
    except PlaywrightTimeoutError:
        return await playwright.chromium.connect_over_cdp(url)


async def _prepare(context: BrowserContext) -> BrowserContext:
    await context.add_init_script(script=f"(() => {{ {SCRIPTS['store']} openStore(); }})()")
    return context


async def _start(
    playwright: Playwright, settings: BrowserSettings, start: Callable[..., Awaitable[T]]
) -> T:
    """Start a browser, with Chromium's own sandbox where that works.

    It works neither for root nor where user namespaces are disabled. The browser's environment
    contains no secrets.
    """
    bundled = playwright.chromium.executable_path
    start = partial(
        start,
        env=await asyncio.to_thread(build_host_environment)
        | {n: v for n, v in os.environ.items() if n.startswith(_DISPLAY_VARIABLES)},
        executable_path=await asyncio.to_thread(find_browser, settings.path, bundled),
        headless=settings.headless,
        args=list(_FLAGS),
        timeout=_START_SECONDS * 1000,
    )
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    sandbox = not is_root if settings.sandbox is None else settings.sandbox
    try:
        return await start(chromium_sandbox=sandbox)
    except PlaywrightError as error:
        if settings.sandbox is not None or is_root or "sandbox" not in str(error).lower():
            raise
        log.warning("Chromium's own sandbox does not work on this machine; continuing without it")
        return await start(chromium_sandbox=False)


def find_browser(
    configured: str | None,
    bundled: str | None,
    which: Callable[[str], str | None] = find_host_program,
) -> str:
    """Return the browser to use: the configured one, Playwright's, or one on PATH. Blocking.

    Raises:
        ToolUnavailableError: no browser was found; the message lists what was tried.
    """
    if configured is None and bundled and Path(bundled).is_file():
        return bundled
    for name in _NAMES if configured is None else (configured,):
        if path := which(name):
            return path
    if configured is not None:
        raise ToolUnavailableError(
            f"Cannot start the browser: `browser.path` (MANUS_BROWSER_PATH) is {configured}, "
            "which does not exist."
        )
    tried = ", ".join([bundled or "Playwright's own", *_NAMES])
    raise ToolUnavailableError(
        f"Cannot start the browser: no Chromium was found (tried {tried}). Install one "
        "(`playwright install chromium`, `apt install chromium`) or name it in MANUS_BROWSER_PATH."
    )


def _context_options(settings: BrowserSettings, proxy_url: str) -> dict[str, Any]:
    return {
        "proxy": {"server": proxy_url, "bypass": "<-loopback>"},
        "viewport": {"width": settings.width, "height": settings.height},
        "locale": settings.locale,
    }
