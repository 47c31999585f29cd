"""What an action has changed, so that the model need not look again to know."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from manus.tools.browser.browser import Browser
from manus.tools.browser.tab import Tab

_MAX_LINES = 8


@dataclass(frozen=True, slots=True)
class Before:
    """How things stood before an action."""

    log: int
    incidents: int
    tab: int
    url: str
    tabs: frozenset[int]


async def changes(browser: Browser, before: Before) -> list[str]:
    """One line for each thing that is different now."""
    tab = browser.active
    if browser.dead:
        return []
    lines: list[str] = []
    opened = [t for t in browser.tabs.values() if t.id not in before.tabs]
    for new in opened:
        front = ", now in front" if new is tab else ""
        lines.append(f"- Tab {new.id} opened{front}: {await _named(new)}")
    if tab is not None and not tab.page.url.startswith("chrome-error:"):
        if tab not in opened and (tab.id, tab.page.url) != (before.tab, before.url):
            what = "The page is now" if tab.id == before.tab else f"Tab {tab.id} shows"
            lines.append(f"- {what} {await _named(tab)}")
        if lines and tab.status is not None and tab.status >= 400:
            lines.append(f"- The server answered with HTTP {tab.status}.")
    if before.tab not in browser.tabs:
        lines.append(f"- Tab {before.tab} was closed.")
    distinct = list(dict.fromkeys(lines + _happenings(browser, before)))
    if (more := len(distinct) - _MAX_LINES) > 0:
        distinct = [*distinct[:_MAX_LINES], f"- … and {more} more of the kind."]
    return distinct


def _happenings(browser: Browser, before: Before) -> list[str]:
    """What stands in the log, of the console only the first error; and what was not reached.

    Of addresses that could not be reached, only the page's own host: pages are full of others.
    """
    tab = browser.active
    host = urlsplit(tab.page.url).hostname if tab is not None else None
    found = browser.proxy.since(before.incidents)
    missed = [f"- {i.reason}" for i in found if i.refused or i.host == host]
    events = browser.log.since(before.log)
    lines = [f"- {text}" for kind, text in events if kind != "console"]
    errors = [text for kind, text in events if kind == "console"]
    if missed:  # the console says so too
        errors = [text for text in errors if "Failed to load resource" not in text]
    lines += [f"- Error in the page's console: {text}" for text in errors[:1]]
    return lines + missed


async def _named(tab: Tab) -> str:
    title = await tab.title()
    return f'"{title}" {tab.page.url}' if title else tab.page.url
