"""What an action tells of what it has changed; batches; tabs; dialogs."""

import socket

import pytest

from manus.tools.browser.navigate import complete_url
from tests.browser.driver import Driver
from tests.browser.site import Answer, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_navigation_and_the_first_error_in_the_console_are_told(
    driver: Driver, site: Site
) -> None:
    site.pages["/"] = """<a href=/two>Two</a><a href=/none>None</a>
      <button onclick="console.error('one'); console.error('two')">A</button>
      <button onclick="nowhere.to.go()">B</button>"""
    site.pages["/two"] = "<title>Second</title>"
    await driver.open(site.base)
    said = await driver.click('button "A"')
    assert "console: one" in said
    assert "two" not in said
    assert "nowhere is not defined" in await driver.click('button "B"')
    said = await driver.click('link "Two"')
    assert said == f'Clicked [1] link "Two".\n- The page is now "Second" {site.base}/two'
    assert f"{site.base}/" in await driver.say("go_back")
    assert "The page is now" in await driver.say("refresh")  # as it is after a form was sent
    await driver.look()
    assert "HTTP 404" in await driver.click('link "None"')


async def test_a_batch_stops_when_the_page_has_gone(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<title>One</title><a href=/two>Next</a><button>Other</button>"
    site.pages["/two"] = "<title>Two</title><button onclick='document.title=1'>Delete</button>"
    await driver.open(site.base)
    await driver.say("click_element", index=1)
    tab = driver.browser.active
    assert tab is not None
    for action, more in (
        ("click_element", {"index": 1}),
        ("send_keys", {"keys": "Enter"}),
        ("click_at", {"x": 20, "y": 20}),
    ):
        said = await driver.fail(action, **more)
        assert said.startswith("Nothing was done")
        assert "\n" not in said
        assert await tab.title() == "Two"
    await driver.look()
    await driver.say("click_element", index=1)


async def test_texts_that_an_action_brings_are_told(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<p>Price: <b id=p>–</b></p><p id=m></p>
      <button onclick="p.textContent = 9; m.textContent = 'Sold out'">Blue</button>
      <button onclick="p.textContent = 8">Red</button><p style=height:3000px></p><p>End</p>"""
    await driver.open(site.base)
    said = await driver.say("click_element", index=1)
    assert said.endswith('- New on the page: "Price: 9", "Sold out"')
    assert '- New on the page: "Price: 8"' in await driver.say("click_element", index=2)
    assert "New" not in await driver.say("scroll_down")
    assert "New" not in await driver.say("send_keys", keys="Control+Home")


async def test_a_batch_goes_on_where_the_page_draws_its_list_anew(
    driver: Driver, site: Site
) -> None:
    site.pages["/"] = """<div id=all></div><script>
      let ticked = [], names = ["Read", "Run"];
      const draw = () => { all.innerHTML = names.map((n) => `<p><button onclick="tick('${n}')">${n}
        </button>
        <button onclick="drop('${n}')">Drop</button> ${ticked.includes(n)}</p>`).join("") };
      const tick = (n) => { ticked.push(n); draw() };
      const drop = (n) => { names = names.filter((m) => m !== n); draw() };
      draw()</script>"""
    await driver.open(site.base)
    await driver.say("click_element", index=3)
    await driver.say("click_element", index=1)
    said = await driver.fail("click_element", index=2)  # there are two of the name
    assert said.startswith('Nothing was done: [2] button "Drop" is no longer on the page.')
    text = await driver.look()
    assert text.count("| true") == 2
    number = int(said.partition("Nearest to it: [")[2].partition("]")[0])
    assert f'[{number}] button "Drop"' in text
    await driver.say("click_element", index=number)  # now there is another page
    assert "Nothing was done" in await driver.fail("click_element", index=number)


async def test_without_a_next_step_prompt_the_answer_shows_the_page(
    driver: Driver, site: Site
) -> None:
    site.pages["/"] = "<button onclick='this.textContent=\"Done\"'>Go</button>"
    driver.session.page_is_prompted = False
    assert '[1] button "Go"' in await driver.say("go_to_url", url=site.base)
    assert '[1] button "Done"' in await driver.say("click_element", index=1)


async def test_popups_are_followed_and_tabs_opened_switched_and_closed(
    driver: Driver, site: Site
) -> None:
    site.pages["/"] = "<title>Main</title><a href=/pop target=_blank>Open</a>"
    site.pages["/pop"] = "<title>Popup</title><button onclick='window.close()'>Close me</button>"
    await driver.open(site.base)
    assert driver.browser.active is not None
    first = driver.browser.active.id
    said = await driver.click('link "Open"')
    assert f'- Tab {first + 1} opened, now in front: "Popup" {site.base}/pop' in said
    assert f"- tab {first}: Main — {site.base}/" in driver.text
    assert f"- Tab {first + 1} was closed." in await driver.click('button "Close me"')
    assert "Title: Main" in driver.text
    await driver.say("open_tab", url=f"{site.base}/pop")
    assert "Title: Popup" in await driver.look()
    await driver.say("switch_tab", tab_id=first)
    assert "Title: Main" in await driver.look()
    assert "no tab 999" in await driver.fail("switch_tab", tab_id=999)
    assert f"Tab {first + 2} is in front." in await driver.say("close_tab")
    await driver.say("close_tab")
    assert "Title: Main" in await driver.open(site.base)


async def test_dialogs_are_answered_and_told(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<button onclick="alert('Hello'); r.textContent = confirm('Sure?') + '/'
      + prompt('Name?', 'x')">Ask</button><p id=r></p>"""
    await driver.open(site.base)
    said = await driver.click('button "Ask"')
    assert said.splitlines()[1:] == [
        '- alert "Hello" was closed.',
        '- confirm "Sure?" was dismissed; the same action with accept=true says yes.',
        '- prompt "Name?" was dismissed; the same action with accept=true says yes.',
        '- New on the page: "false/null"',
    ]
    said = await driver.say("click_element", index=1, accept=True, text="Ann")
    assert '- confirm "Sure?" was accepted.' in said
    assert '"true/Ann"' in said
    assert "dismissed" in await driver.say("click_element", index=1)


async def test_unfit_arguments_are_named_in_a_line(driver: Driver) -> None:
    assert "`url`" in await driver.fail("go_to_url")
    assert "`x` and `y`" in await driver.fail("click_at")
    said = await driver.fail("click", index=1)
    assert said.endswith("did you mean `click_element`?")
    assert "\n" not in said


async def test_addresses_without_a_scheme() -> None:
    assert complete_url("example.com") == "https://example.com"
    assert complete_url("example.com:8443/x") == "https://example.com:8443/x"
    assert complete_url("localhost:8000") == "http://localhost:8000"
    assert complete_url("127.0.0.1/x") == "http://127.0.0.1/x"
    assert complete_url("javascript:alert(1)") == "javascript:alert(1)"


async def test_nothing_there(driver: Driver, site: Site) -> None:
    site.pages["/"] = Answer("", 204)
    assert "could not be opened" in await driver.fail("go_to_url", url=site.base)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    said = await driver.fail("go_to_url", url=f"http://127.0.0.1:{port}/")
    assert "127.0.0.1 does not answer" in said
