"""Elements that a page has drawn again since they were shown."""

import pytest

from tests.browser.driver import Driver

pytestmark = pytest.mark.asyncio(loop_scope="session")

REDRAWN = """<div id=all></div><script>let clicks = [];
  const draw = (extra) => {{ all.innerHTML = `<p>${{clicks.join()}}</p>{buttons}${{extra}}` }};
  draw("");
  const press = (name) => {{ clicks.push(name); draw("<button>Extra</button>") }}</script>"""
PLAIN = REDRAWN.format(
    buttons="<button onclick=\"press('a')\">Add</button><button onclick=\"press('b')\">Buy</button>"
)
TWINS = """<button id=x1 onclick="press('1')">Drop</button>
  <button id=x2 onclick="press('2')">Drop</button>"""
ROWS = """<ul id=l></ul><script>let rows = ["Bill of Ann"];
  const draw = () => { l.innerHTML = rows.map((r) => `<li>${r}
    <button onclick="document.title = '${r}'">Delete</button></li>`).join("") };
  draw(); const swap = () => { rows = ["Wedding pictures"]; draw() }</script>
  <button onclick="swap()">Next</button>"""


async def test_the_only_equal_element_is_acted_on(driver: Driver) -> None:
    """Even if the page has other elements by now."""
    await driver.show(PLAIN)
    await driver.say("click_element", index=1)
    assert 'Clicked [2] button "Buy"' in await driver.say("click_element", index=2)
    assert "| a,b" in await driver.look()


async def test_equal_names_are_distinguished_by_their_ids(driver: Driver) -> None:
    await driver.show(REDRAWN.format(buttons=TWINS))
    await driver.say("click_element", index=1)
    await driver.say("click_element", index=2)
    assert "| 1,2" in await driver.look()


async def test_an_equal_element_of_another_entry_is_not_acted_on(driver: Driver) -> None:
    await driver.show(ROWS)
    delete = driver.number('button "Delete"')
    await driver.say("click_element", index=driver.number('button "Next"'))
    error = await driver.fail("click_element", index=delete)
    assert error.startswith(
        f'Nothing was done: [{delete}] button "Delete" is no longer on the page'
    )
    assert "Title: Wedding" not in await driver.look()


async def test_new_elements_are_named_and_can_be_used_at_once(driver: Driver) -> None:
    await driver.show("""<button onclick="m.innerHTML = '<p>Sure?</p><button onclick=go()>Yes'">
      Delete</button><div id=m></div><p>One</p><p>Two</p><p>Three</p>
      <script>const go = () => { document.title = "gone" }</script>""")
    output = await driver.say("click_element", index=1)
    assert output.endswith('- New on the page: "Sure?", [2] button "Yes"')
    await driver.say("click_element", index=2)
    assert "Title: gone" in await driver.look()


async def test_elements_redrawn_with_the_same_text_are_not_new(driver: Driver) -> None:
    await driver.show(PLAIN)
    output = await driver.say("click_element", index=1)
    assert output.endswith('- New on the page: "a", [5] button "Extra"')


@pytest.mark.parametrize(
    "field",
    [
        """<div id=f role=combobox tabindex=0 style="width:200px">Choose a city</div><script>
        const change = () => { f.textContent = "Rome" }</script>""",
        """<input id=f placeholder="Choose a city"><script>
        const change = () => { f.placeholder = "" }</script>""",
        """<div id=d><input id=f placeholder="Choose a city"></div><script>
        const change = () => { f.outerHTML = '<input id=f placeholder="Other city">' }</script>""",
    ],
)
async def test_a_field_whose_name_changes_is_the_same_field(driver: Driver, field: str) -> None:
    clicks = "<output id=n>0</output><script>d = document; d.onclick = e => n.value = e.target.id"
    await driver.show(f"{field}<button onclick=change()>Change</button>{clicks}</script>")
    await driver.say("click_element", index=driver.number("button"))
    await driver.say("click_element", index=1)
    clicked = await driver.say("evaluate", text="n.value")
    assert clicked.endswith("\nf"), "the click reached the field"
