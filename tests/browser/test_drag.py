"""Dragging: sliders, drag and drop, sorted lists, canvases."""

from typing import Any

import pytest

from tests.browser.driver import Driver
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

SLIDER = """<body style="margin:0"><div style="width:300px;height:20px;position:relative">
  <div role=slider aria-label=Level tabindex=0 aria-valuenow=0 aria-valuemin=0 aria-valuemax=300
  style="position:absolute;left:0;width:20px;height:20px;background:red"></div></div><script>
  const s = document.querySelector("[role=slider]"); let from = null;
  s.onmousedown = (e) => { from = e.clientX - s.offsetLeft };
  onmousemove = (e) => { if (from !== null) { s.style.left = e.clientX - from + "px";
    s.setAttribute("aria-valuenow", e.clientX - from) } };
  onmouseup = () => { from = null }</script>"""
DROP = """<div draggable=true id=a>Ticket</div><div id=b style="width:200px;height:60px">Done</div>
  <script>a.ondragstart = (e) => e.dataTransfer.setData("text/plain", "ticket 7");
  b.addEventListener("dragover", (e) => e.preventDefault());
  b.addEventListener("drop", (e) => { e.preventDefault();
    b.textContent = "Got " + e.dataTransfer.getData("text/plain") })</script>"""
SORTED = """<ul id=l style="margin:0;padding:0"></ul><script>
  for (const n of ["Ant", "Bee", "Cat", "Dog"]) l.insertAdjacentHTML("beforeend",
    `<li style="height:30px">${n}</li>`);
  let moving = null;
  l.addEventListener("mousedown", (e) => { moving = e.target; e.preventDefault() });
  onmousemove = (e) => { if (!moving) return;
    for (const other of l.children) { const r = other.getBoundingClientRect();
      const middle = r.top + r.height / 2;
      if (other === moving) continue;
      if (r.top < moving.getBoundingClientRect().top && e.clientY < middle) {
        other.before(moving); break }
      if (r.top > moving.getBoundingClientRect().top && e.clientY > middle) {
        other.after(moving); break } } };
  onmouseup = () => { moving = null }</script>"""
CANVAS = """<body style="margin:0"><canvas id=c width=200 height=100></canvas><p id=p></p><script>
  let track = [];
  c.onmousedown = (e) => { track = [[e.offsetX, e.offsetY]] };
  c.onmousemove = (e) => { if (e.buttons) track.push([e.offsetX, e.offsetY]) };
  c.onmouseup = () => { p.textContent = `from ${track[0]} to ${track.at(-1)}` +
    (track.some((point) => point + "" === "100,20") ? " over 100,20" : "") }</script>"""


async def test_a_slider_is_dragged_and_reports_its_value(driver: Driver) -> None:
    await driver.show(SLIDER)
    assert driver.line("slider").endswith("at 0,0 size 20×20")
    number = driver.number('slider "Level"')
    output = await driver.say("drag", index=number, to=[160, 10])
    assert output.splitlines()[:2] == [
        f'Dragged [{number}] slider "Level" to 160,10.',
        '- Its value is now "150".',
    ]


async def test_data_is_dropped_on_an_element_that_accepts_it(driver: Driver) -> None:
    await driver.show(DROP)
    ticket, target = driver.number('clickable "Ticket"'), driver.number('clickable "Done"')
    assert "draggable" in driver.line('clickable "Ticket"')
    assert "drop target" in driver.line('clickable "Done"')
    await driver.say("drag", index=ticket, to=[target])
    assert '"Got ticket 7"' in await driver.look()


async def test_the_page_is_scrolled_during_the_drag(driver: Driver) -> None:
    """Otherwise the end would be outside the view, where nothing can be dropped."""
    await driver.show(DROP.replace("<div id=b", "<p style='height:1100px'></p><div id=b"))
    target = driver.number('clickable "Done"')
    await driver.say("scroll_to_text", text="Ticket")
    await driver.look()
    await driver.say("drag", index=driver.number('clickable "Ticket"'), to=[target])
    assert '"Got ticket 7"' in await driver.look()


ORDERS = [("Ant", "Cat", "Bee Cat Ant Dog"), ("Dog", "Bee", "Ant Dog Bee Cat")]


@pytest.mark.parametrize(("moved", "target", "order"), ORDERS)
async def test_a_list_entry_is_dragged_to_the_position_of_another(
    driver: Driver, moved: str, target: str, order: str
) -> None:
    await driver.show(SORTED)
    start, end = (driver.number(f'clickable "{name}"') for name in (moved, target))
    output = await driver.say("drag", index=start, to=end)
    assert f"- The order now: {order.replace(' ', ', ')}" in output
    text = await driver.look()
    names = [line.split('"')[1] for line in text.splitlines() if '] clickable "' in line]
    assert " ".join(names) == order


async def test_a_line_is_drawn_along_points(driver: Driver) -> None:
    await driver.show(CANVAS)
    output = await driver.say("drag", x=10, y=20, to=[100, 20, 100, 80])
    assert output.startswith("Dragged from 10,20 to 100,80.")
    assert '"from 10,20 to 100,80 over 100,20"' in output


async def test_the_elements_may_be_in_frames_and_out_of_view(driver: Driver, site: Site) -> None:
    site.pages["/inner"] = DROP
    await driver.show("<p style='height:1500px'></p><iframe src=/inner width=400></iframe>")
    await driver.say("scroll_down", scroll_amount=5000)
    await driver.look()
    ticket, target = driver.number('clickable "Ticket"'), driver.number('clickable "Done"')
    await driver.say("scroll_up", scroll_amount=80)
    await driver.say("drag", index=ticket, to=f"[{target}]")
    assert '"Got ticket 7"' in await driver.look()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"index": 1}, "`drag` needs `to`"),
    ({"index": 1, "to": [1, 2, 3]}, "`drag` needs `to`"),
    ({"to": [5, 5]}, "`drag` needs a start"),
    ({"index": 1, "to": [9000, 5]}, "9000,5 is outside the view"),
    ({"index": 1, "to": [77]}, "[77] is not on the page"),
]


async def test_invalid_drags_report_the_reason(driver: Driver, subtests: pytest.Subtests) -> None:
    await driver.show("<a href=/>One</a>")
    for arguments, message in WRONG:
        with subtests.test(arguments=arguments):
            assert message in await driver.fail("drag", **arguments)
