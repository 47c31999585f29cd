"""Which function carries out which action."""

from __future__ import annotations

import asyncio
from typing import Any

from manus.state.errors import ToolError
from manus.tools.browser.arguments import BrowserArgs
from manus.tools.browser.browser import Browser
from manus.tools.browser.dropdown import get_dropdown_options, select_dropdown_option
from manus.tools.browser.files import upload_file
from manus.tools.browser.keyboard import input_text, send_keys
from manus.tools.browser.navigate import check_url, go_back, go_to_url, refresh
from manus.tools.browser.pointer import click_at, click_element, hover
from manus.tools.browser.reading import extract_content
from manus.tools.browser.tab import Tab
from manus.tools.browser.view import screenshot, scroll, scroll_to_text
from manus.tools.session import Session


async def carry_out(session: Session, browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    """Do what was asked and say so; a `ToolError` says why it cannot be done."""
    given: Any = a  # what an action needs has been looked for before
    match a.action:
        case "go_to_url":
            return await go_to_url(browser, tab, given.url)
        case "go_back":
            return await go_back(browser, tab)
        case "refresh":
            return await refresh(browser, tab)
        case "click_element":
            return await click_element(tab, given.index)
        case "click_at":
            return await click_at(tab, given.x, given.y)
        case "hover":
            return await hover(tab, given.index)
        case "input_text":
            return await input_text(tab, given.index, given.text)
        case "send_keys":
            return await send_keys(tab, given.keys)
        case "get_dropdown_options":
            return await get_dropdown_options(tab, given.index)
        case "select_dropdown_option":
            return await select_dropdown_option(tab, given.index, given.text)
        case "upload_file":
            return await upload_file(browser.workspace, tab, given.index, given.path)
        case "scroll_down" | "scroll_up":
            return await scroll(tab, a.action == "scroll_down", a.scroll_amount, a.index)
        case "scroll_to_text":
            return await scroll_to_text(tab, given.text)
        case "extract_content":
            return await extract_content(session, browser, tab, a.goal, a.page)
        case "screenshot":
            return await screenshot(browser.workspace, tab, a.path)
        case "wait":
            return await _wait(a.seconds or 3)
        case _:
            return await _tabs(browser, tab, a)


async def _wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return f"Waited {seconds:g} s."


async def _tabs(browser: Browser, tab: Tab, a: BrowserArgs) -> str:
    if a.action == "open_tab":
        if a.url:
            await check_url(browser, a.url)
        fresh = await browser.open_tab()
        said = f"Opened tab {fresh.id}."
        return f"{said} {await go_to_url(browser, fresh, a.url)}" if a.url else said
    wanted = tab.id if a.tab_id is None else a.tab_id
    other = browser.tabs.get(wanted)
    if other is None:
        known = ", ".join(str(number) for number in browser.tabs)
        raise ToolError(f"There is no tab {wanted}; the open ones are: {known}.")
    if a.action == "switch_tab":
        await browser.bring_to_front(other)
        return f"Tab {other.id} is in front."
    await browser.close_tab(other)
    left = browser.active
    return f"Closed tab {other.id}." + (f" Tab {left.id} is in front." if left else "")
