"""Clicking, hovering, dragging, scrolling."""

from __future__ import annotations

import pytest

from tests.browser.driver import Driver
from tests.browser.site import Answer, Request, Site

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_menu_that_opens_under_the_mouse(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<style>.sub{display:none} .m:hover .sub{display:block}</style>
      <div class=m><button>Menu</button><div class=sub><a href=/found>Inside</a></div></div>"""
    site.pages["/found"] = "<title>Found</title>"
    text = await driver.open(site.base)
    assert "Inside" not in text
    await driver.say("hover", index=driver.number('button "Menu"'))
    await driver.look()
    assert 'The page is now "Found"' in await driver.click('link "Inside"')


@pytest.mark.parametrize("native", [True, False])
async def test_drag_and_drop(driver: Driver, site: Site, native: bool) -> None:
    by_html = """<div id=a draggable=true style="width:60px;height:30px">Piece</div>
      <div id=b tabindex=0 style="width:200px;height:100px;background:#eee">Place</div><script>
      b.ondragover = e => e.preventDefault(); b.ondrop = () => b.textContent = "Dropped"</script>"""
    by_mouse = """<div id=a tabindex=0 style="width:60px;height:30px">Piece</div>
      <div id=b tabindex=0 style="width:200px;height:100px;background:#eee">Place</div><script>
      let held = 0; a.onmousedown = () => held = 1;
      b.onmouseup = () => { if (held) b.textContent = "Dropped" }</script>"""
    site.pages["/"] = by_html if native else by_mouse
    await driver.open(site.base)
    piece, place = driver.number('clickable "Piece"'), driver.number('clickable "Place"')
    await driver.say("drag", index=piece, target=place)
    await driver.look()
    assert driver.number('clickable "Dropped"') == place


async def test_places_on_a_canvas(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<body style="margin:0"><canvas id=c width=200 height=100></canvas><script>
      c.onclick = e => document.title = e.offsetX + "," + e.offsetY</script>"""
    await driver.open(site.base)
    assert driver.line("canvas").endswith("at 0,0 size 200×100")
    await driver.say("click_at", x=150, y=40)
    assert "Title: 150,40" in await driver.look()
    assert "outside the view" in await driver.fail("click_at", x=5000, y=1)


async def test_a_covered_element_names_its_cover(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<button id=b>Target</button><script>
      const cover = () => document.body.insertAdjacentHTML("beforeend",
        "<div id=veil style='position:fixed;inset:0;background:#fff'>Cookies</div>");
      window.cover = cover</script><button onclick="cover()">Veil</button>"""
    await driver.open(site.base)
    target = driver.number('button "Target"')
    await driver.click('button "Veil"')
    said = await driver.fail("click_element", index=target)
    assert f"Element {target} is covered by" in said
    assert "veil" in said
    assert f"Last action failed: Element {target} is covered" in await driver.look()
    await driver.say("wait", seconds=0.01)
    assert "Last action failed" not in await driver.look()


async def test_an_element_covered_in_the_middle_is_clicked_beside(
    driver: Driver, site: Site
) -> None:
    site.pages["/"] = """<div style="position:relative;width:200px"><button style="width:200px;
      height:60px" onclick="document.title='hit'">Wide</button><div style="position:absolute;
      left:60px;top:10px;width:80px;height:40px;background:red"></div></div>"""
    await driver.open(site.base)
    await driver.click('button "Wide"')
    assert "Title: hit" in driver.text


async def test_a_hidden_check_box_is_clicked_through_its_label(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<style>input{position:absolute;opacity:0;width:0;height:0}</style>
      <label><input type=checkbox><span>Fancy</span></label>"""
    await driver.open(site.base)
    await driver.click('checkbox "Fancy"')
    assert driver.line('checkbox "Fancy"').startswith('checkbox "Fancy" (checked')


async def test_infinite_scroll(driver: Driver, site: Site) -> None:
    def more(request: Request) -> Answer:
        first = int(request.query.removeprefix("from="))
        return Answer("".join(f"<p>Row {first + n}</p>" for n in range(20)))

    site.pages["/more"] = more
    site.pages["/"] = """<style>p{height:80px;margin:0}</style><div id=l></div><script>
      let n = 0, busy = false;
      const load = async () => { if (busy) return; busy = true;
        l.insertAdjacentHTML("beforeend", await (await fetch("/more?from=" + n)).text());
        n += 20; busy = false };
      load();
      onscroll = () => { if (scrollY + innerHeight > document.body.scrollHeight - 200) load() }
      </script>"""
    await driver.open(site.base)
    for _ in range(6):
        await driver.say("scroll_down", scroll_amount=3000)
        if "| Row 45" in await driver.look():
            return
    pytest.fail(driver.text)


async def test_scrolling_an_area_and_to_a_text(driver: Driver, site: Site) -> None:
    rows = "".join(f"<p>Item {n}</p>" for n in range(100))
    site.pages["/"] = f"""<div tabindex=0 aria-label=List style="height:200px;overflow:auto">
      {rows}</div><div style="height:4000px"></div><p>The <b>very</b> end</p>"""
    await driver.open(site.base)
    area = driver.number('scroll area "List"')
    assert "0 px above" in driver.line('scroll area "List"')
    said = await driver.say("scroll_down", index=area, scroll_amount=500)
    assert said.startswith("Scrolled the area down by 500 px; 500 px are above")
    assert "| Item 15" in await driver.look()
    assert await driver.say("scroll_to_text", text="the VERY  end") == (
        'Scrolled to: "The very end"'
    )
    assert "nothing below" in await driver.look()
    assert "is at its end already" in await driver.say("scroll_down")
    await driver.say("scroll_up", scroll_amount=100_000)
    assert "nothing above" in await driver.look()
    assert "is at its" in await driver.say("scroll_up")
    assert '"unicorn" is not on the page.' in await driver.fail("scroll_to_text", text="unicorn")


async def test_a_page_that_does_not_scroll(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<p>Short</p>"
    await driver.open(site.base)
    assert "The page does not scroll." in await driver.say("scroll_down")
