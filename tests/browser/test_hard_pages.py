"""Pages that never respond, never finish, loop, crash or flood."""

import asyncio
import threading
from collections.abc import Callable

import pytest
import pytest_asyncio

from manus.tools.browser import snapshot, state, tab
from tests.browser.conftest import NewDriver
from tests.browser.driver import Driver
from tests.browser.site import Answer, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOOP = "<title>L</title><p>x</p><script>setInterval(() => { for(;;); }, 1)</script>"
UNDER_MOUSE = """<body style="margin:0"><style>
  button, div { display: block; width: 100px; height: 30px; margin: 0 }</style>
<button>Open</button><script>
  let active = "", isNew = true;
  const enter = (name) => {
    if (!isNew) { active = name; return; }
    isNew = false; // the menu opened under the mouse: wait until it is moved
    document.addEventListener("mousemove", () => { active = name }, { once: true });
  };
  document.querySelector("button").onclick = (event) => {
    event.target.remove();
    for (const name of ["Nepal", "New Zealand"]) {
      const item = document.createElement("div");
      item.setAttribute("role", "option");
      item.textContent = name;
      item.onmouseenter = () => enter(name);
      item.onclick = () => { document.title = active };
      document.body.append(item);
    }
  };
</script>"""
FLOOD = "<button onclick='for(;;) alert(1)'>Flood</button>"


@pytest_asyncio.fixture(loop_scope="session")
async def driver(new_driver: NewDriver) -> Driver:
    return await new_driver()


def patience(driver: Driver, seconds: float) -> None:
    """Set the time limit of further actions: short if they cannot finish, else long enough."""
    settings = driver.browser.settings
    driver.browser.settings = settings.model_copy(update={"action_timeout": seconds})


async def answers(driver: Driver, site: Site) -> None:
    """Assert that the next action works."""
    patience(driver, 60)
    site.pages["/fine"] = "<title>Fine</title>"
    async with asyncio.timeout(60):
        assert "Title: Fine" in await driver.open(f"{site.base}/fine")


async def test_a_server_that_never_answers(driver: Driver, site: Site) -> None:
    site.pages["/never"] = Answer("late", hold=threading.Event())
    site.pages["/"] = "<a href=/never>Never</a>"
    patience(driver, 3)
    assert "within" in await driver.fail("go_to_url", url=f"{site.base}/never")
    patience(driver, 60)
    await driver.open(site.base)
    patience(driver, 3)
    assert "within" in await driver.click('link "Never"')
    assert '"Never"' in driver.text
    await answers(driver, site)


async def test_a_page_that_never_ends(driver: Driver, site: Site) -> None:
    site.pages["/"] = Answer("<title>Drip</title><button>Early</button>" + " " * 2000, trickle=True)
    patience(driver, 3)
    await driver.say("go_to_url", url=site.base)
    text = await driver.look()
    assert '"Early"' in text
    assert "It is still loading" in text
    await answers(driver, site)


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that shortens the time within which a page must respond.

    A page that is to answer must not be given less than usual: on a loaded machine it would not.
    """

    def shorten() -> None:
        monkeypatch.setattr(tab, "ANSWER_SECONDS", 1.0)
        monkeypatch.setattr(state, "ANSWER_SECONDS", 1.0)
        monkeypatch.setattr(snapshot, "_PAGE_SECONDS", 1.0)

    return shorten


async def test_a_page_that_is_busy_from_the_start(
    driver: Driver,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    short_waits: Callable[[], None],
) -> None:
    site.pages["/"] = LOOP
    short_waits()
    patience(driver, 1)
    await driver.do("go_to_url", url=site.base)
    await driver.look()
    assert len((await driver.do("click_element", index=1)).text) < 500
    monkeypatch.undo()
    await answers(driver, site)


async def test_a_click_after_which_the_page_is_busy(
    driver: Driver,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    short_waits: Callable[[], None],
) -> None:
    site.pages["/"] = FLOOD
    assert '"Flood"' in await driver.open(site.base)
    short_waits()
    patience(driver, 1)
    assert len((await driver.do("click_element", index=1)).text) < 500
    monkeypatch.undo()
    await answers(driver, site)


async def test_a_page_that_crashes(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<p>x</p>"
    await driver.open(site.base)
    front = driver.browser.active
    assert front is not None
    cdp = await front.cdp()
    assert cdp is not None
    crash = asyncio.ensure_future(cdp.send("Page.crash"))
    async with asyncio.timeout(60):
        while driver.browser.has(front):
            await asyncio.sleep(0.01)
    crash.cancel()
    assert "The page crashed" in await driver.look()
    assert "crashed" not in await driver.say("go_to_url", url=site.base)


async def test_a_call_is_cancelled_cleanly(driver: Driver, site: Site) -> None:
    site.pages["/never"] = Answer("late", hold=threading.Event())
    await driver.open("about:blank")
    going = asyncio.ensure_future(driver.do("go_to_url", url=f"{site.base}/never"))
    async with asyncio.timeout(60):
        while "/never" not in site.paths():
            await asyncio.sleep(0.01)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    await answers(driver, site)


async def test_a_menu_that_opened_under_the_mouse(driver: Driver, site: Site) -> None:
    """The first movement selects the entry under the mouse, the following ones select others."""
    site.pages["/"] = UNDER_MOUSE
    await driver.open(site.base)
    await driver.click('button "Open"')
    await driver.click('option "New Zealand"')
    assert "Title: New Zealand" in driver.text
