"""What an action tells of what it has changed; batches; tabs; dialogs."""

from __future__ import annotations

import pytest

from tests.browser.driver import Driver
from tests.browser.site import Answer, Site

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_navigation_is_told(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<a href=/two>Two</a><a href=/none>None</a>"
    site.pages["/two"] = "<title>Second</title>"
    await driver.open(site.base)
    assert await driver.click('link "Two"') == (
        f'Clicked element 1.\n- The page is now "Second" {site.base}/two'
    )
    assert await driver.say("go_back") == f"Went back.\n- The page is now {site.base}/"
    await driver.look()
    assert "- The server answered with HTTP 404." in await driver.click('link "None"')


async def test_the_first_error_in_the_console_is_told(driver: Driver, site: Site) -> None:
    site.pages[
        "/"
    ] = """<button onclick="console.error('first'); console.error('second')">A</button>
      <button onclick="nowhere.to.go()">B</button>"""
    await driver.open(site.base)
    said = await driver.click('button "A"')
    assert said == "Clicked element 1.\n- Error in the page's console: first"
    assert "nowhere is not defined" in await driver.click('button "B"')


async def test_a_batch_stops_when_the_page_has_gone(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<title>One</title><a href=/two>Next</a><button>Other</button>"
    site.pages["/two"] = "<title>Two</title><button>Delete everything</button><input>"
    await driver.open(site.base)
    await driver.say("click_element", index=1)
    for action, more in (
        ("click_element", {"index": 1}),
        ("send_keys", {"keys": "Enter"}),
        ("click_at", {"x": 5, "y": 5}),
        ("input_text", {"index": 2, "text": "x"}),
    ):
        said = await driver.fail(action, **more)
        assert said.startswith("Nothing was done: the page is not the one that was shown before")
        assert '[1] button "Delete everything"' in said
    await driver.look()
    await driver.say("click_element", index=1)


async def test_the_page_in_the_answer(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<button onclick='this.textContent=\"Done\"'>Go</button>"
    driver.session.page_is_prompted = False
    assert '[1] button "Go"' in await driver.say("go_to_url", url=site.base)
    assert '[1] button "Done"' in await driver.say("click_element", index=1)


async def test_popups_are_followed_and_tabs_listed(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<title>Main</title><a href=/pop target=_blank>Open</a>"
    site.pages["/pop"] = "<title>Popup</title><button onclick='window.close()'>Close me</button>"
    await driver.open(site.base)
    first = driver.browser.active
    assert first is not None
    said = await driver.click('link "Open"')
    popup = driver.browser.active
    assert popup is not None
    assert f'- Tab {popup.id} opened, now in front: "Popup" {site.base}/pop' in said
    assert f"Tab {popup.id} is in front. Other tabs:" in driver.text
    assert f"- tab {first.id}: Main — {site.base}/" in driver.text
    said = await driver.click('button "Close me"')
    assert f"- Tab {popup.id} was closed." in said
    assert "Title: Main" in driver.text


async def test_tabs_are_opened_switched_and_closed(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<title>One</title>"
    site.pages["/two"] = "<title>Two</title>"
    await driver.open(site.base)
    one = driver.browser.active
    assert one is not None
    await driver.say("open_tab", url=f"{site.base}/two")
    two = driver.browser.active
    assert two is not None
    assert "Title: Two" in await driver.look()
    await driver.say("switch_tab", tab_id=one.id)
    assert "Title: One" in await driver.look()
    assert "There is no tab 999" in await driver.fail("switch_tab", tab_id=999)
    said = await driver.say("close_tab")
    assert f"Closed tab {one.id}. Tab {two.id} is in front." in said
    await driver.say("close_tab")
    assert await driver.look() != ""
    assert "Title: One" in await driver.open(site.base)


async def test_dialogs_are_answered_and_told(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<button onclick="alert('Hello'); r.textContent = confirm('Sure?') + '/'
      + prompt('Name?', 'x')">Ask</button><p id=r></p>"""
    await driver.open(site.base)
    assert await driver.click('button "Ask"') == (
        'Clicked element 1.\n- alert "Hello" was closed.\n- confirm "Sure?" was dismissed by '
        'policy.\n- prompt "Name?" was dismissed by policy.'
    )
    assert "| false/null" in driver.text


async def test_a_page_that_asks_to_stay_is_left(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<input aria-label=F><script>onbeforeunload = (e) => {
      e.preventDefault(); return "stay" }</script>"""
    site.pages["/two"] = "<title>Two</title>"
    await driver.open(site.base)
    await driver.write('textbox "F"', "typed")
    said = await driver.say("go_to_url", url=f"{site.base}/two")
    assert "The page asked to stay (beforeunload); it was left." in said
    assert "Title: Two" in await driver.look()


@pytest.mark.parametrize(
    ("action", "arguments", "said"),
    [
        ("go_to_url", {}, "`go_to_url` needs `url`."),
        ("input_text", {"index": 1}, "`input_text` needs `text`."),
        ("click_at", {}, "`click_at` needs `x` and `y`."),
        ("drag", {"index": 1}, "Nothing was done"),
        ("dance", {}, "action"),
    ],
)
async def test_missing_arguments_are_named(
    driver: Driver, action: str, arguments: dict[str, int], said: str
) -> None:
    assert said in await driver.fail(action, **arguments)


async def test_addresses_without_a_scheme() -> None:
    from manus.tools.browser.navigate import complete_url

    assert complete_url("example.com") == "https://example.com"
    assert complete_url("example.com:8443/x") == "https://example.com:8443/x"
    assert complete_url("localhost:8000") == "http://localhost:8000"
    assert complete_url("127.0.0.1/x") == "http://127.0.0.1/x"
    assert complete_url("file:///etc/passwd") == "file:///etc/passwd"
    assert complete_url("javascript:alert(1)") == "javascript:alert(1)"


async def test_nothing_there(driver: Driver, site: Site) -> None:
    base = site.base
    site.close()
    said = await driver.fail("go_to_url", url=base)
    assert f"{base} could not be opened: 127.0.0.1 does not answer on port" in said
    site.__init__()  # type: ignore[misc]
    site.pages["/"] = Answer("", 204)
    assert "the server sent no page" in await driver.fail("go_to_url", url=site.base)
