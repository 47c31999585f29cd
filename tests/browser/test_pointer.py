"""Clicking, hovering, scrolling."""

import pytest

from manus.tools.browser import pointer
from tests.browser.driver import Driver
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_menu_that_opens_under_the_mouse(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<style>.sub{display:none} .m:hover .sub{display:block}</style>
      <div class=m><button>Menu</button><div class=sub><a href=/found>Inside</a></div></div>"""
    site.pages["/found"] = "<title>Found</title>"
    assert "Inside" not in await driver.open(site.base)
    await driver.say("hover", index=driver.number('button "Menu"'))
    await driver.look()
    assert 'now "Found"' in await driver.click('link "Inside"')


async def test_places_on_a_canvas(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<body style="margin:0"><canvas id=c width=200 height=100></canvas><script>
      c.onclick = e => document.title = e.offsetX + "," + e.offsetY</script>"""
    await driver.open(site.base)
    assert driver.line("canvas").endswith("at 0,0 size 200×100")
    await driver.say("click_at", x=150, y=40)
    assert "Title: 150,40" in await driver.look()
    assert "outside the view" in await driver.fail("click_at", x=5000, y=1)


async def test_a_covered_element_names_its_cover(
    driver: Driver, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages["/"] = """<button>Target</button><button onclick="document.body.insertAdjacentHTML(
      'beforeend', '<div id=veil style=position:fixed;inset:0;background:#fff>Cookies</div>')">
      Veil</button>"""
    await driver.open(site.base)
    target = driver.number('button "Target"')
    await driver.click('button "Veil"')
    monkeypatch.setattr(pointer, "ACTION_MS", 500)
    said = await driver.fail("click_element", index=target)
    assert f'[{target}] button "Target" is covered' in said
    assert "veil" in said
    assert "Last action failed" in await driver.look()
    await driver.say("wait", seconds=0.01)
    assert "Last action failed" not in await driver.look()


async def test_a_hidden_check_box_is_clicked_through_its_label(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<style>input{position:absolute;opacity:0;width:0;height:0}</style>
      <label><input type=checkbox><span>Fancy</span></label>"""
    await driver.open(site.base)
    await driver.click('checkbox "Fancy"')
    assert driver.line('checkbox "Fancy"').startswith('checkbox "Fancy" (checked')


async def test_scrolling_an_area_and_to_a_text(driver: Driver, site: Site) -> None:
    rows = "".join(f"<p>Item {n}</p>" for n in range(100))
    site.pages["/"] = f"""<div tabindex=0 aria-label=List style="height:200px;overflow:auto">
      {rows}</div><div style="height:4000px"></div><p>The <b>very</b> end</p>"""
    await driver.open(site.base)
    area = driver.number('scroll area "List"')
    assert "0 px above" in driver.line('scroll area "List"')
    assert "by 500 px" in await driver.say("scroll_down", index=area, scroll_amount=500)
    assert "| Item 15" in await driver.look()
    await driver.say("scroll_to_text", text="the VERY  end")
    assert "nothing below" in await driver.look()
    assert "at its end" in await driver.say("scroll_down")
    await driver.say("scroll_up", scroll_amount=100_000)
    assert "nothing above" in await driver.look()
    assert "unicorn" in await driver.fail("scroll_to_text", text="unicorn")
    site.pages["/"] = "<p>Short</p>"
    await driver.open(site.base)
    assert "does not scroll" in await driver.say("scroll_down")
