"""What an action reports about its changes; batches; tabs; dialogs; the digest of a page."""

import socket
from typing import Any

import pytest

from manus.tools.browser.navigate import complete_url
from tests.browser.driver import Driver
from tests.browser.site import Answer, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_navigation_and_the_first_console_error(driver: Driver, site: Site) -> None:
    site.pages["/two"] = "<title>Second</title>"
    await driver.show("""<a href=/two>Two</a><a href=/none>None</a>
      <button onclick="console.error('one'); console.error('two')">A</button>
      <button onclick="nowhere.to.go()">B</button>""")
    output = await driver.click('button "A"')
    assert "console: one" in output
    assert "two" not in output
    assert "nowhere is not defined" in await driver.click('button "B"')
    output = await driver.click('link "Two"')
    assert output == f'Clicked [1] link "Two".\n- The page is now {site.base}/two'
    assert f"{site.base}/" in await driver.say("go_back")
    assert "The page is now" in await driver.say("refresh")  # as after a form was submitted
    await driver.look()
    assert "HTTP 404" in await driver.click('link "None"')


async def test_a_missing_script_is_named(driver: Driver, site: Site) -> None:
    site.pages["/two"] = "<script src=/gone.js></script>"
    await driver.show("<a href=/two>Two</a>")
    output = await driver.click('link "Two"')
    assert "status of 404" in output
    assert f": {site.base}/gone.js" in output


async def test_a_batch_stops_when_the_page_is_left(
    driver: Driver, site: Site, subtests: pytest.Subtests
) -> None:
    site.pages["/two"] = "<title>Two</title><button onclick='document.title=1'>Delete</button>"
    await driver.show("<title>One</title><a href=/two>Next</a><button>Other</button>")
    await driver.say("click_element", index=1)
    tab = driver.browser.active
    assert tab is not None
    for action, arguments in (
        ("click_element", {"index": 1}),
        ("send_keys", {"keys": "Enter"}),
        ("click_at", {"x": 20, "y": 20}),
    ):
        with subtests.test(action=action, arguments=arguments):
            error = await driver.fail(action, **arguments)
            assert error.startswith("Nothing was done")
            assert "\n" not in error
            assert await tab.title() == "Two"
    await driver.look()
    await driver.say("click_element", index=1)


async def test_texts_that_appear_after_an_action_are_reported(driver: Driver) -> None:
    await driver.show("""<p>Price: <b id=p>–</b></p><p id=m></p>
      <button onclick="p.textContent = 9; m.textContent = 'Sold out'">Blue</button>
      <button onclick="p.textContent = 8">Red</button><p style=height:3000px></p><p>End</p>""")
    output = await driver.say("click_element", index=1)
    assert output.endswith('- New on the page: "Price: 9", "Sold out"')
    assert '- New on the page: "Price: 8"' in await driver.say("click_element", index=2)
    assert "New" not in await driver.say("scroll_down")
    assert "New" not in await driver.say("send_keys", keys="Control+Home")


async def test_a_batch_continues_if_the_page_redraws_its_list(driver: Driver) -> None:
    await driver.show("""<div id=all></div><script>
      let ticked = [], names = ["Read", "Run"];
      const draw = () => { all.innerHTML = names.map((n) => `<p><button onclick="tick('${n}')">${n}
        </button>
        <button onclick="drop('${n}')">Drop</button> ${ticked.includes(n)}</p>`).join("") };
      const tick = (n) => { ticked.push(n); draw() };
      const drop = (n) => { names = names.filter((m) => m !== n); draw() };
      draw()</script>""")
    await driver.say("click_element", index=3)
    await driver.say("click_element", index=1)
    error = await driver.fail("click_element", index=2)  # two elements have this name
    assert error.startswith('Nothing was done: [2] button "Drop" is no longer on the page.')
    text = await driver.look()
    assert text.count("| true") == 2
    number = int(error.partition("The most similar element now: [")[2].partition("]")[0])
    assert f'[{number}] button "Drop"' in text
    await driver.say("click_element", index=number)  # now it is another page
    assert "Nothing was done" in await driver.fail("click_element", index=number)


async def test_without_a_next_step_prompt_the_observation_shows_the_page(driver: Driver) -> None:
    await driver.show("<button onclick='this.textContent=\"Done\"'>Go</button>")
    driver.session.page_is_prompted = False
    assert '[1] button "Go"' in await driver.say("refresh")
    assert '[1] button "Done"' in await driver.say("click_element", index=1)


async def test_popups_and_tabs_are_followed(driver: Driver, site: Site) -> None:
    site.pages["/pop"] = "<title>Popup</title><button onclick='window.close()'>Close me</button>"
    await driver.show("<title>Main</title><a href=/pop target=_blank>Open</a>")
    assert driver.browser.active is not None
    first = driver.browser.active.id
    output = await driver.click('link "Open"')
    assert f"- Tab {first + 1} opened, now active: {site.base}/pop" in output
    assert f"- tab {first}: Main — {site.base}/" in driver.text
    assert f"- Tab {first + 1} was closed." in await driver.click('button "Close me"')
    assert "Title: Main" in driver.text
    await driver.say("open_tab", url=f"{site.base}/pop")
    assert "Title: Popup" in await driver.look()
    await driver.say("switch_tab", tab_id=first)
    assert "Title: Main" in await driver.look()
    assert "Tab 999 does not exist" in await driver.fail("switch_tab", tab_id=999)
    assert f"Tab {first + 2} is active." in await driver.say("close_tab")
    await driver.say("close_tab")
    assert "Title: Main" in await driver.open(site.base)


async def test_dialogs_are_answered_and_reported(driver: Driver) -> None:
    await driver.show("""<button onclick="alert('Hello'); r.textContent = confirm('Sure?') + '/'
      + prompt('Name?', 'x')">Ask</button><p id=r></p>""")
    output = await driver.click('button "Ask"')
    assert output.splitlines()[1:] == [
        "- A dialog was dismissed; repeat the action with accept=true to accept it.",
        '- alert "Hello" was closed.',
        '- confirm "Sure?" was dismissed.',
        '- prompt "Name?" was dismissed.',
        '- New on the page: "false/null"',
    ]
    output = await driver.say("click_element", index=1, accept=True, text="Ann")
    assert '- confirm "Sure?" was accepted.' in output
    assert '"true/Ann"' in output
    assert "dismissed" in await driver.say("click_element", index=1)


ADDRESSES = {
    "example.com": "https://example.com",
    "example.com:8443/x": "https://example.com:8443/x",
    "localhost:8000": "http://localhost:8000",
    "127.0.0.1/x": "http://127.0.0.1/x",
    "javascript:alert(1)": "javascript:alert(1)",
}


async def test_invalid_arguments_and_missing_elements_are_reported_in_one_line(
    driver: Driver,
) -> None:
    assert "`url`" in await driver.fail("go_to_url")
    assert "`x` and `y`" in await driver.fail("click_at")
    error = await driver.fail("click", index=1)
    assert error.endswith("did you mean `click_element`?")
    assert "\n" not in error
    driver.site.pages["/"] = Answer("", 204)
    assert "Cannot open" in await driver.fail("go_to_url", url=driver.site.base)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = await driver.fail("go_to_url", url=f"http://127.0.0.1:{port}/")
    assert "127.0.0.1 does not respond" in error
    assert {address: complete_url(address) for address in ADDRESSES} == ADDRESSES


CALENDAR = """<h2 id=h></h2><button onclick="m++; show()">Next month</button><div id=days></div>
  <script>let m = 0; const show = () => { const d = new Date(2026, m, 1);
  h.textContent = d.toLocaleString("en", {month: "long", year: "numeric"});
  days.textContent = "1 2 3 4 5" }; show()</script>"""
CAROUSEL = """<div style="width:200px;overflow:hidden"><div id=strip
  style="display:flex;width:900px">
  <img src=/0.png width=200 height=90><img src=/1.png width=200 height=90></div></div>
  <button onclick="strip.append(strip.firstElementChild); strip.firstElementChild.src =
    '/' + (n++) + '.png'">Next</button><script>let n = 2</script>"""
COUNTER = "<p id=p>0</p><button onclick='p.textContent = +p.textContent + 1'>+</button>"
LIST = """<ul id=l><li>Row</ul><button onclick="l.insertAdjacentHTML('beforeend', '<li>Row')">
  Load more</button>"""
MENU = """<ul>{}</ul><button id=b>Menu</button><script>let at = 0; onkeydown = () => {{
  const all = document.querySelectorAll("li"); all[at].className = "";
  all[at = (at + 1) % all.length].className = "chosen" }}</script>""".format("<li>Entry" * 12)
CLOCK = """<p id=t>12:00:00</p><button>Nothing</button><script>let s = 0;
  setInterval(() => t.textContent = "12:00:" + String(s++ % 60).padStart(2, "0"), 50)</script>"""


async def test_actions_with_an_effect_change_the_digest(
    driver: Driver, subtests: pytest.Subtests
) -> None:
    """Loop detection uses it to recognize actions without effect."""

    async def digests(times: int, action: str, **arguments: Any) -> list[str | None]:
        return [(await driver.do(action, **arguments)).fingerprint for _ in range(times)]

    await driver.show(CALENDAR + CAROUSEL + COUNTER + LIST)
    for number in range(1, 5):
        with subtests.test(number=number):
            assert len(set(await digests(2, "click_element", index=number))) == 2, number
    await driver.show(MENU)
    assert len(set(await digests(3, "send_keys", keys="ArrowDown"))) == 3
    await driver.show("<p style='height:1500px'>Part</p>")
    first, second, third = await digests(3, "scroll_down")
    assert first != second == third, "until the end"
    await driver.show(CLOCK)
    first, second = await digests(2, "click_element", index=1)
    assert first == second is not None


FORM = """<form action=/sent><label>Name <input name=n></label><label>Street <input name=s></label>
  <label>News <input type=checkbox name=c></label><button>Send</button></form>"""


async def test_a_form_is_filled_in_one_message(driver: Driver, site: Site) -> None:
    """Also if the page writes the values of its fields into its address."""
    site.pages["/sent"] = "<title>Sent</title><p>Thanks</p>"
    keep = "<script>oninput = () => history.replaceState(0, '', '?q=' + Math.random())</script>"
    await driver.show(FORM + keep)
    await driver.say("input_text", index=1, text="Ada")
    await driver.say("input_text", index=2, text="High Street 1")
    await driver.say("click_element", index=3)
    output = await driver.say("click_element", index=4)
    assert "/sent?n=Ada&s=High+Street+1&c=on" in output


ROUTES = {
    "path": "history.pushState(0, '', '/step/2')",
    "view": "location.hash = '#/step/2'",
}


@pytest.mark.parametrize("name", ROUTES)
async def test_another_view_of_the_same_document_stops_a_batch(driver: Driver, name: str) -> None:
    await driver.show(f'<button onclick="{ROUTES[name]}">Next</button><button>Delete</button>')
    await driver.say("click_element", index=1)
    error = await driver.fail("click_element", index=2)
    assert error.startswith("Nothing was done: the page has changed since it was shown to you")
    assert "/step/2" in error
    await driver.look()
    await driver.say("click_element", index=2)


async def test_a_reused_element_is_not_acted_on(driver: Driver) -> None:
    """For example if a page reuses its elements for the next rows of a list."""
    await driver.show("""<button onclick="one.textContent = 'Delete B'">Next</button>
      <button id=one onclick="document.title = this.textContent">Delete A</button>
      <button>Other</button>""")
    await driver.say("click_element", index=1)
    error = await driver.fail("click_element", index=2)
    assert 'was button "Delete A" when it was shown to you, and is button "Delete B" now' in error
    await driver.say("click_element", index=3)
    await driver.look()
    await driver.say("click_element", index=2)
    assert "Title: Delete B" in await driver.look()


async def test_another_button_is_not_similar_because_it_is_a_button(driver: Driver) -> None:
    await driver.show("""<button onclick="document.body.innerHTML = '<button>Order</button>'">Choose
      </button>""")
    await driver.say("click_element", index=1)
    error = await driver.fail("click_element", index=1)
    assert error == 'Nothing was done: [1] button "Choose" is no longer on the page.'


async def test_an_empty_tab_is_not_reloaded(driver: Driver) -> None:
    await driver.open("about:blank")
    assert await driver.fail("refresh") == "There is no page to reload; open one with `go_to_url`."
