"""The tool's own sentences are outside the frame around page text; numbers in screenshots."""

import base64
from typing import Any

import pytest

from manus.calls.invoke import observe_call
from manus.calls.truncation import truncate
from manus.prompts.sources import framed
from manus.tools.browser.state import browser_state
from tests.browser.driver import Driver
from tests.browser.site import Site
from tests.safety.test_sources import FRAME

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGE = """<title>page-words</title><h1>page-words</h1><button onclick="confirm('page-words');
  console.error('page-words'); p.textContent = 'page-words ' + Math.random()">Ask</button>
  <p id=p></p><select aria-label=Size><option>page-words<option>L</select>
  <input aria-label=Code maxlength=3 value=abc><div style=height:2000px></div><p>page-words</p>"""
CALLS: list[tuple[dict[str, Any], str]] = [
    ({"action": "click_element", "index": 1}, 'Clicked [1] button "Ask".\n- A dialog was'),
    ({"action": "get_dropdown_options", "index": 2}, 'Options of [2] combobox "Size":'),
    ({"action": "select_dropdown_option", "index": 2, "text": "XL"}, 'no option "XL"'),
    ({"action": "input_text", "index": 3, "text": "12345"}, 'did not take "12345": it has another'),
    ({"action": "extract_content"}, "Text of http"),
    ({"action": "scroll_to_text", "text": "words"}, "Scrolled to the text"),
    ({"action": "click_element", "index": 99}, "[99] is not on the page"),
    ({"action": "refresh"}, "Loaded the page again.\n- The page is now http"),
]


async def test_only_text_of_the_page_is_framed(driver: Driver, subtests: pytest.Subtests) -> None:
    await driver.show(PAGE)
    for arguments, own_words in CALLS:
        with subtests.test(arguments=arguments):
            result = await observe_call(driver.tool, arguments)
            text = framed(result.text, result.source, result.own_text)
            outside = FRAME.sub("", text)
            assert own_words in outside
            assert "page-words" not in outside
            assert text.count("[from the web") <= 1


async def test_the_state_frames_only_page_text(driver: Driver, site: Site) -> None:
    await driver.show(PAGE)
    await driver.fail("click_element", index=99)
    outside = FRAME.sub("", await driver.look())
    assert "Last action failed: Nothing was done: [99] is not on the page." in outside
    assert f"URL: {site.base}" in outside
    assert "screens below" in outside
    assert "page-words" not in outside
    await driver.say("open_tab")
    outside = FRAME.sub("", await driver.look())
    assert "is active" in outside
    assert "page-words" not in outside


async def test_truncated_text_is_framed_completely(driver: Driver) -> None:
    own_text = "Text of the page:"
    text = truncate(f"{own_text}\n" + "page-words " * 500, 900, driver.session.workspace)
    assert framed(text, "the web: x.test", own_text).startswith(f"{own_text}\n[from the web")
    forged = framed("Text of another page", "the web: x.test", own_text)
    assert forged.startswith("[from the web: x.test")


NUMBERED = """<body style="margin:0;background:#fff"><button style="position:absolute;left:100px;
  top:100px;width:200px;height:100px;background:#fff;border:0">.</button>"""
COLOURS = """async (data) => { const picture = new Image();
  picture.src = "data:image/jpeg;base64," + data; await picture.decode();
  const canvas = document.createElement("canvas"); canvas.width = picture.width;
  canvas.height = picture.height; const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const points = context.getImageData(100, 100, 14, 12).data; let dark = 0;
  for (let i = 0; i < points.length; i += 4) if (points[i + 1] < 150) dark++;
  return dark }"""


async def test_the_screenshot_has_the_numbers_and_the_page_does_not_keep_them(
    driver: Driver,
) -> None:
    await driver.show(NUMBERED)
    state = await browser_state(driver.session, screenshot=True)
    assert state is not None
    [image] = state.images
    assert base64.b64decode(image.data).startswith(b"\xff\xd8")
    await driver.open("about:blank")
    front = driver.browser.active
    assert front is not None
    assert int(await front.page.evaluate(COLOURS, image.data)) > 20
    await driver.show(NUMBERED)
    await browser_state(driver.session, screenshot=True)
    front = driver.browser.active
    assert front is not None
    remaining = await front.page.evaluate("document.documentElement.children.length")
    assert remaining == 2, "only head and body"


async def test_only_the_start_of_a_long_label_is_quoted(driver: Driver) -> None:
    label = "Continue. " + "page-words " * 8
    await driver.show(f"<button>{label}</button>")
    result = await observe_call(driver.tool, {"action": "click_element", "index": 1})
    outside = FRAME.sub("", framed(result.text, result.source, result.own_text))
    assert 'Clicked [1] button "Continue.' in outside
    assert outside.count("page-words") < 4
