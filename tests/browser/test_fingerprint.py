"""The digest of the page after an action, by which loop detection tells effect from none."""

from typing import Any

import pytest

from tests.browser.driver import Driver
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

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


async def test_what_has_an_effect_changes_it(driver: Driver, site: Site) -> None:
    site.pages["/"] = CALENDAR + CAROUSEL + COUNTER + LIST
    await driver.open(site.base)
    for number in range(1, 5):
        seen = [await fingerprint(driver, "click_element", index=number) for _ in range(2)]
        assert seen[0] != seen[1], number
    site.pages["/"] = MENU
    await driver.open(site.base)
    seen = [await fingerprint(driver, "send_keys", keys="ArrowDown") for _ in range(3)]
    assert len(set(seen)) == 3


async def test_scrolling_changes_it_until_the_end(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<p style='height:1500px'>Part</p>"
    await driver.open(site.base)
    first, second, third = [await fingerprint(driver, "scroll_down") for _ in range(3)]
    assert first != second == third


async def test_what_has_no_effect_leaves_it(driver: Driver, site: Site) -> None:
    site.pages["/"] = CLOCK
    await driver.open(site.base)
    seen = [await fingerprint(driver, "click_element", index=1) for _ in range(2)]
    assert seen[0] == seen[1]


async def fingerprint(driver: Driver, action: str, **arguments: Any) -> str:
    found = (await driver.do(action, **arguments)).fingerprint
    assert found is not None
    return found
