"""The browser as a tool: a real Chromium that the model can see and act on."""

from tools.browser.state import BrowserState, browser_state

__all__ = ["BrowserState", "browser_state"]
