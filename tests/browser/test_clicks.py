"""Clicks other than a simple one, actions without an effect, and scripts that only read."""

import pytest

from tests.browser.driver import Driver

pytestmark = pytest.mark.asyncio(loop_scope="session")

FILES = """<body style="margin:0"><p tabindex=0 style="margin:0;height:20px"
  ondblclick="this.textContent = 'Opened ' + event.detail"
  oncontextmenu="event.preventDefault(); this.textContent = 'Menu of ' + event.button">notes.txt</p>
  <button>Idle</button>"""
NO_CHANGE = "- Nothing in the view has changed so far."


@pytest.mark.parametrize(
    ("action", "by_point", "text"),
    [
        ("double_click", False, "Opened 2"),
        ("double_click", True, "Opened 2"),
        ("right_click", False, "Menu of 2"),
        ("right_click", True, "Menu of 2"),
    ],
)
async def test_double_and_right_clicks(
    driver: Driver, action: str, by_point: bool, text: str
) -> None:
    await driver.show(FILES)
    index = driver.number('clickable "notes.txt"')
    output = await driver.say(action, **({"x": 10, "y": 10} if by_point else {"index": index}))
    assert NO_CHANGE not in output
    assert f'[{index}] clickable "{text}"' in await driver.look()


async def test_a_click_needs_an_aim(driver: Driver) -> None:
    await driver.show(FILES)
    assert "`double_click` needs `index`, or `x` and `y`." in await driver.fail("double_click")


EFFECTS = {
    "style": "this.style.opacity = 0.5",
    "position": "this.style.position = 'relative'; this.style.left = '5px'",
    "text": "this.firstChild.data = 'Done'",
    "attribute": "this.title = 'Done'",
    "dialog": "alert('Done')",
    "value": "document.querySelector('input').value = 1",
}


@pytest.mark.parametrize("effect", ["", *EFFECTS])
async def test_an_action_without_an_effect_is_reported(driver: Driver, effect: str) -> None:
    """Twice, since the first click also takes the focus away from the body."""
    await driver.show(f'<button onclick="{EFFECTS.get(effect, "")}">Go</button><input>')
    output = await driver.say("click_element", index=driver.number("button"))
    assert (NO_CHANGE in output) is (not effect)


LONE = """<div id=l style="padding:20px"><div class=card>Alone</div></div><script>
  l.addEventListener("pointerdown", (e) => { if (e.target !== l) e.target.textContent = "Taken" })
  </script>"""


async def test_the_only_card_of_a_list_is_dragged_rather_than_the_list(driver: Driver) -> None:
    await driver.show(LONE)
    await driver.say("drag", index=driver.number('clickable "Alone"'), to=[300, 200])
    assert '"Taken"' in await driver.look()


async def test_a_drag_that_moves_nothing_is_reported(driver: Driver) -> None:
    await driver.show("<p draggable=true>One</p><p draggable=true>Two</p>")
    first, second = driver.number('clickable "One"'), driver.number('clickable "Two"')
    assert NO_CHANGE in await driver.say("drag", index=first, to=[second])


PAGE = "<ul><li>4<li>5</ul><script>window.total = {sum: 9}</script>"


@pytest.mark.parametrize(
    ("script", "value"),
    [
        ("document.querySelectorAll('li').length", "2"),
        ("Array.from(document.querySelectorAll('li'), (e) => +e.textContent)", "[4, 5]"),
        ("total", '{"sum": 9}'),
        ("document.body.innerText", "4\n5"),
    ],
)
async def test_a_script_returns_a_value(driver: Driver, script: str, value: str) -> None:
    await driver.show(PAGE)
    output = await driver.say("evaluate", text=script)
    assert output.split("\n", 1) == ["The script returned:", value]


@pytest.mark.parametrize(
    "script",
    [
        "document.title = 'Changed'",
        "total.sum = 1",
        "document.querySelector('li').remove()",
        "fetch('/spy')",
        "new Image().src = '/spy'",
        "navigator.sendBeacon('/spy')",
        "location = '/spy'",
        "localStorage.setItem('a', 1)",
        "document.forms",
        "while (true);",
        "missing",
    ],
)
async def test_a_script_changes_nothing(driver: Driver, script: str) -> None:
    await driver.show(PAGE)
    observation = await driver.do("evaluate", text=script)
    assert observation.is_error is (script != "document.forms")
    state = "document.title + total.sum + document.body.innerText + (localStorage.length || '')"
    assert (await driver.say("evaluate", text=state)).endswith("94\n5")
    assert "/spy" not in [request.path for request in driver.site.requests]
