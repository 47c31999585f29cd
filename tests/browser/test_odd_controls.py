"""Controls that are drawn by something other than themselves, and pages behind other doors."""

import pytest
import pytest_asyncio

from tests.browser.conftest import NewDriver
from tests.browser.driver import Driver
from tests.browser.site import Answer, Site
from tests.browser.test_files import pdf

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def driver(new_driver: NewDriver) -> Driver:
    return await new_driver()


BOX = "i { display: inline-block; width: 20px; height: 20px; border: 1px solid }"
HIDDEN = {
    "clip": "position: absolute; clip: rect(0 0 0 0)",
    "clip of full size": "position: absolute; width: 20px; height: 20px; clip: rect(0, 0, 0, 0)",
    "clip-path": "position: absolute; width: 20px; height: 20px; clip-path: inset(50%)",
    "clip-path of a pixel": "position: absolute; width: 1px; clip-path: circle(0)",
    "transparent": "position: absolute; opacity: 0",
    "transparent, without clicks": "position: absolute; opacity: 0; pointer-events: none",
    "off the page": "position: absolute; left: -9999px",
    "scaled": "position: absolute; transform: scale(0)",
    "behind": "position: absolute; z-index: -1",
    "without appearance": "appearance: none; width: 0; height: 0; margin: 0",
    "not displayed": "display: none",
    "invisible": "visibility: hidden",
}
LABELS = {
    "around": "<label><input id=c type=checkbox><i></i> I accept <a href=#t>the terms</a></label>",
    "beside": "<input id=c type=checkbox><label for=c><i></i> I accept the terms</label>",
}


@pytest.mark.sample(every=4)
@pytest.mark.parametrize("hiding", HIDDEN)
async def test_a_hidden_checkbox_with_a_drawn_box_is_checked(
    driver: Driver, subtests: pytest.Subtests, hiding: str
) -> None:
    for name, markup in LABELS.items():
        with subtests.test(name=name):
            await driver.show(
                f"<style>{BOX} label {{ position: relative }} #c {{ {HIDDEN[hiding]} }}</style>"
                f"<p>Sign up</p>{markup}"
            )
            assert "(unchecked)" in driver.line('checkbox "I accept the terms"')
            await driver.click('checkbox "I accept the terms"')
            assert "(checked" in driver.line('checkbox "I accept the terms"')
            assert "#t" not in driver.text.partition("\n")[0], "the link in the label was not hit"


SLIDER = """<style>
  .root { position: relative; display: inline-block; width: 200px; height: 4px; padding: 13px 0;
    cursor: pointer; background: #ddd }
  .thumb { position: absolute; left: 30%; top: 5px; width: 20px; height: 20px; background: blue }
  input { border: 0; clip: rect(0 0 0 0); height: 100%; margin: -1px; overflow: hidden; padding: 0;
    position: absolute; white-space: nowrap; width: 100% }</style>
<span class=root><span class=thumb><input type=range aria-label=Volume min=0 max=100 value=30
  aria-valuetext="30 dB" oninput="this.setAttribute('aria-valuetext', value + ' dB')">
</span></span><script>
  document.querySelector(".root").addEventListener("mousedown", () => 0)</script>"""


async def test_a_slider_drawn_around_a_clipped_input_shows_and_takes_its_value(
    driver: Driver,
) -> None:
    await driver.show(SLIDER)
    assert '= "30 dB"' in driver.line('slider "Volume"')
    await driver.say("input_text", index=driver.number('slider "Volume"'), text="60")
    await driver.look()
    assert '= "60 dB"' in driver.line('slider "Volume"')


WALL = """<title>Before</title><div id=host></div><script>
  const root = host.attachShadow({ mode: "closed" });
  root.innerHTML = `<p>We use cookies</p><button>Accept all</button><input aria-label=Code>
    <div id=inner></div>`;
  root.querySelector("button").onclick = () => { document.title = "Accepted " +
    root.querySelector("input").value; host.remove() };
  root.querySelector("#inner").attachShadow({ mode: "closed" }).innerHTML = "<a href=#x>More</a>";
</script><p>The article</p>"""


async def test_a_closed_shadow_root_is_part_of_the_page(driver: Driver) -> None:
    text = await driver.show(WALL)
    assert "| We use cookies" in text
    assert driver.number('link "More"')
    await driver.write('textbox "Code"', "7")
    await driver.click('button "Accept all"')
    assert "Title: Accepted 7" in driver.text
    assert "| The article" in driver.text


DECLARED_WALL = """<title>Before</title><div id=host><template shadowrootmode=closed>
  <div style="position:fixed;inset:0;background:white"><p>We use cookies</p>
  <button onclick="document.title = 'Accepted'; host.remove()">Accept all</button>
  <section><template shadowrootmode=closed><input aria-label=Code></template></section></div>
</template></div><p>The article</p>"""


async def test_a_closed_shadow_root_that_the_page_declares(driver: Driver) -> None:
    """No script creates it; it is read in each page that is loaded."""
    for _ in range(2):
        text = await driver.show(DECLARED_WALL)
        assert "| We use cookies" in text
        await driver.write('textbox "Code"', "7")
        assert driver.line('textbox "Code"').startswith('textbox "Code" = "7"')
        await driver.click('button "Accept all"')
        assert "Title: Accepted" in driver.text
        assert "| The article" in driver.text


async def test_a_pdf_in_a_new_tab_is_read(driver: Driver, site: Site) -> None:
    site.pages["/p"] = Answer(pdf("Annual figures", "Second sheet"), type="application/pdf")
    for opener in (
        "<a href=/p target=_blank>Figures</a>",
        "<button onclick=\"window.open('/p')\">Figures</button>",
        "<form action=/p target=new><button>Figures</button></form>",
    ):
        await driver.show(opener)
        await driver.click('link "Figures"' if opener.startswith("<a") else 'button "Figures"')
        assert "| Annual figures" in driver.text
        assert "## Page 2\n\nSecond sheet" in await driver.say("extract_content")


WAITING = """<title>Form</title><input aria-label=Name onchange="b.disabled = !this.value">
<button id=b disabled onclick="document.title = 'Saved'">Save</button>
<button disabled>Never</button>"""


async def test_a_button_that_waits_until_a_field_is_left(driver: Driver) -> None:
    await driver.show(WAITING)
    assert driver.line('button "Save"') == 'button "Save" (disabled)'
    await driver.write('textbox "Name"', "Ada")
    assert "disabled, maybe until the focused field is left" in driver.line('button "Save"')
    await driver.click('button "Save"')
    assert "Title: Saved" in driver.text
    assert "is disabled" in await driver.fail(
        "click_element", index=driver.number('button "Never"')
    )
