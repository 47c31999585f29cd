"""What an action has changed, so that the model need not look again to know."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from manus.tools.browser.browser import Browser
from manus.tools.browser.tab import Tab

_MAX_LINES = 8
_MAX_REFUSALS = 3


@dataclass(frozen=True, slots=True)
class Before:
    """How things stood before an action."""

    log: int
    incidents: int
    tab: int
    url: str
    tabs: frozenset[int]


def look_before(browser: Browser, tab: Tab, mark: int) -> Before:
    """How things stand now; of the log, how they stood at a mark."""
    return Before(
        mark,
        browser.proxy.count,
        tab.id,
        tab.page.url,
        frozenset(browser.tabs),
    )


async def changes(browser: Browser, before: Before) -> list[str]:
    """One line for each thing that is different now."""
    lines: list[str] = []
    if browser.dead:
        return lines
    tab = browser.active
    opened = [t for t in browser.tabs.values() if t.id not in before.tabs]
    for new in opened[:_MAX_LINES]:
        front = ", now in front" if new is tab else ""
        lines.append(f"- Tab {new.id} opened{front}: {await _named(new)}")
    moved = tab is not None and (tab.id, tab.page.url) != (before.tab, before.url)
    if tab is not None and tab.page.url.startswith("chrome-error:"):
        return [*lines, *_happenings(browser, before)]
    if tab is not None and tab not in opened and moved:
        what = "The page is now" if tab.id == before.tab else f"Tab {tab.id} shows"
        lines.append(f"- {what} {await _named(tab)}")
    if tab is not None and lines and tab.status is not None and tab.status >= 400:
        lines.append(f"- The server answered with HTTP {tab.status}.")
    if before.tab not in browser.tabs:
        lines.append(f"- Tab {before.tab} was closed.")
    return lines + _happenings(browser, before)


def _happenings(browser: Browser, before: Before) -> list[str]:
    lines: list[str] = []
    errors = 0
    missed = _incidents(browser, before)
    for happening in browser.log.since(before.log):
        if happening.kind == "console":
            errors += 1
            if errors > 1 or (missed and "Failed to load resource" in happening.text):
                continue
            lines.append(f"- Error in the page's console: {happening.text}")
        else:
            lines.append(f"- {happening.text}")
    lines.extend(f"- {reason}" for reason in missed)
    distinct = list(dict.fromkeys(lines))
    if len(distinct) > _MAX_LINES:
        more = len(distinct) - _MAX_LINES
        distinct = [*distinct[:_MAX_LINES], f"- … and {more} more of the kind."]
    return distinct


def _incidents(browser: Browser, before: Before) -> list[str]:
    """What the egress rules refused, and that the page's own host could not be reached.

    Not what else it could not reach: pages are full of addresses that do not matter.
    """
    tab = browser.active
    host = urlsplit(tab.page.url).hostname if tab is not None else None
    found = browser.proxy.since(before.incidents)
    reasons = [i.reason for i in found if i.refused or i.host == host]
    if len(reasons) > _MAX_REFUSALS:
        more = f"{len(reasons) - _MAX_REFUSALS} more addresses were refused or not reached."
        return [*reasons[:_MAX_REFUSALS], more]
    return reasons


async def _named(tab: Tab) -> str:
    title = await tab.title()
    return f'"{title}" {tab.page.url}' if title else tab.page.url
