"""Starting and ending a Chromium, in a context of its own, behind the egress proxy."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import (
    Browser,
    BrowserContext,
    Playwright,
    ProxySettings,
    ViewportSize,
    async_playwright,
)
from playwright.async_api import Error as PlaywrightError

from manus.state.browser_settings import BrowserSettings
from manus.state.errors import ToolUnavailableError
from manus.tools.browser.find import find_browser
from manus.tools.browser.scripts import load_scripts, script

log = logging.getLogger("manus")

_CLOSE_SECONDS = 10.0
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


@dataclass(slots=True)
class Engine:
    """A started browser. `browser` is None for a persistent profile, which has only a context."""

    playwright: Playwright
    browser: Browser | None
    context: BrowserContext
    attached: bool = False
    """It was running before; only our context is ours to close."""

    async def close(self) -> None:
        """End it, by force if it does not listen."""
        with contextlib.suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.context.close()
                if self.browser is not None and not self.attached:
                    await self.browser.close()
        # The driver takes the browser with it, which hangs on a pipe of the driver's.
        with contextlib.suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.playwright.stop()


async def start_engine(settings: BrowserSettings, proxy_url: str) -> Engine:
    """Start a browser as the settings say, or join the one they name.

    Raises:
        ToolUnavailableError: there is none, or it does not start.
    """
    await asyncio.to_thread(load_scripts)
    playwright = await async_playwright().start()
    try:
        async with asyncio.timeout(settings.start_timeout):
            engine = await _start(playwright, settings, proxy_url)
            await engine.context.add_init_script(script=script("prepare"))
            return engine
    except BaseException as error:
        with contextlib.suppress(PlaywrightError):
            await playwright.stop()
        if isinstance(error, PlaywrightError | TimeoutError):
            why = str(error).strip().split("\n")[0] or f"not up in {settings.start_timeout:g} s"
            raise ToolUnavailableError(f"The browser could not be started: {why}") from None
        raise


async def _start(playwright: Playwright, settings: BrowserSettings, proxy_url: str) -> Engine:
    proxy = ProxySettings(server=proxy_url, bypass="<-loopback>")
    if settings.cdp_url:
        browser = await playwright.chromium.connect_over_cdp(settings.cdp_url)
        context = await browser.new_context(proxy=proxy, **_context_options(settings))
        return Engine(playwright, browser, context, attached=True)
    program = await asyncio.to_thread(
        find_browser, settings.path, playwright.chromium.executable_path
    )
    options: dict[str, Any] = {
        "executable_path": program.path,
        "headless": settings.headless,
        "args": list(_FLAGS),
        "proxy": proxy,
        "timeout": settings.start_timeout * 1000,
    }
    if settings.profile_dir:
        folder = str(await asyncio.to_thread(_folder, settings.profile_dir))
        context = await _sandboxed(
            settings,
            lambda sandbox: playwright.chromium.launch_persistent_context(
                folder, chromium_sandbox=sandbox, **options, **_context_options(settings)
            ),
        )
        return Engine(playwright, None, context)
    browser = await _sandboxed(
        settings, lambda sandbox: playwright.chromium.launch(chromium_sandbox=sandbox, **options)
    )
    context = await browser.new_context(**_context_options(settings))
    return Engine(playwright, browser, context)


async def _sandboxed(settings: BrowserSettings, launch: Any) -> Any:
    """Launch with Chromium's sandbox where that works.

    It does not as root, nor where users are kept from making namespaces.
    """
    if settings.sandbox is not None:
        return await launch(settings.sandbox)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return await launch(False)
    try:
        return await launch(True)
    except PlaywrightError as error:
        if "sandbox" not in str(error).lower():
            raise
        log.warning("Chromium's own sandbox does not work on this machine; going on without it")
        return await launch(False)


def _context_options(settings: BrowserSettings) -> dict[str, Any]:
    return {
        "viewport": ViewportSize(width=settings.width, height=settings.height),
        "user_agent": settings.user_agent,
        "locale": settings.locale,
        "accept_downloads": True,
    }


def _folder(name: str) -> Path:
    folder = Path(name).expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
