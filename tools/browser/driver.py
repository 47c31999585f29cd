"""Playwright's driver, started without the keys that our environment holds.

Playwright starts it with the whole environment and has no option for another one, so this module
goes by a private name of it: `get_driver_env`. Only drivers that are started here are affected.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import Any

from playwright._impl import transport
from playwright.async_api import Playwright, async_playwright

from manus.tools.shell.process import scrubbed

# What a browser with windows and fonts needs besides what other programs do.
_PASSED = frozenset(
    {
        *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DEBUG"),
        *("PLAYWRIGHT_BROWSERS_PATH", "PLAYWRIGHT_HOST_PLATFORM_OVERRIDE"),
        "PLAYWRIGHT_SKIP_VALIDATE_HOST_REQUIREMENTS",
    }
)
_PASSED_PREFIXES = ("XDG_", "FONTCONFIG_", "PW_LANG_", "PW_CLI_")
_is_ours: ContextVar[bool] = ContextVar("is_ours", default=False)


async def start_driver() -> Playwright:
    """Start a driver; the browsers that it starts have its environment."""
    module: Any = transport
    if not isinstance(module.get_driver_env, _Environment):
        module.get_driver_env = _Environment(module.get_driver_env)
    token = _is_ours.set(True)  # the task that starts the process has a copy of it
    try:
        return await async_playwright().start()
    finally:
        _is_ours.reset(token)


class _Environment:
    """Stands for Playwright's function: the same environment, without keys for our drivers."""

    def __init__(self, everything: Any) -> None:
        self._everything = everything

    def __call__(self) -> dict[str, str]:
        given: dict[str, str] = self._everything()
        if not _is_ours.get():
            return given
        kept = {
            name: value
            for name, value in given.items()
            if name in _PASSED or name.startswith(_PASSED_PREFIXES)
        }
        return {**scrubbed(os.environ), **kept}
