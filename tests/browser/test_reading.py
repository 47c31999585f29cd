"""extract_content: the whole page, by pages, by goal, by a model."""

import pytest
from langchain_core.messages import BaseMessage

from manus.state.errors import ModelUnavailableError
from tests.browser.driver import Driver
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

FILLER = "".join(
    f"<h2>Part {n}</h2><p>{'Nothing of interest stands in this long paragraph. ' * 12}</p>"
    for n in range(60)
)
PAGE = f"""<title>Report</title><nav><a href=/>Home</a></nav><article><h1>Yearly report</h1>
  {FILLER}<h2>Penguins</h2><p>The colony counts 4,211 penguins.</p>{FILLER}</article>"""


async def test_without_a_goal_page_by_page(driver: Driver, site: Site) -> None:
    site.pages["/"] = PAGE
    await driver.open(site.base)
    first = await driver.say("extract_content")
    assert first.startswith(f"From Report ({site.base}/), page 1 of ")
    count = int(first.split("page 1 of ")[1].split(":")[0])
    assert len(first) < 8_200
    last = await driver.say("extract_content", page=count)
    assert f"page {count} of {count}" in last
    said = await driver.fail("extract_content", page=count + 1)
    assert f"no page {count + 1}" in said


async def test_with_a_goal_the_parts_that_fit_or_what_a_model_answers(
    driver: Driver, site: Site
) -> None:
    site.pages["/"] = PAGE
    await driver.open(site.base)
    said = await driver.say("extract_content", goal="How many penguins are there?")
    assert "4,211 penguins" in said
    assert len(said) < 6_500
    asked: list[tuple[str, list[BaseMessage]]] = []

    async def complete(role: str, messages: list[BaseMessage]) -> str:
        asked.append((role, messages))
        if len(asked) > 1:
            raise ModelUnavailableError("The model does not answer.")
        return "4,211"

    driver.session.complete = complete
    said = await driver.say("extract_content", goal="How many penguins?")
    assert said == f"From Report ({site.base}/):\n\n4,211"
    role, messages = asked[0]
    assert (role, [message.type for message in messages]) == ("extract", ["system", "human"])
    assert "Goal: How many penguins?" in messages[1].text
    assert "4,211 penguins" in messages[1].text
    assert len(messages[1].text) < 41_000
    said = await driver.say("extract_content", goal="How many penguins?")
    assert "does not answer" in said
    assert "4,211 penguins" in said


async def test_frames_are_read_and_a_picture_has_no_text(driver: Driver, site: Site) -> None:
    site.pages["/frame"] = "<p>Outside</p><iframe src=/in></iframe>"
    site.pages["/in"] = "<p>Inside words</p>"
    site.pages["/none"] = "<canvas></canvas>"
    await driver.open(f"{site.base}/frame")
    said = await driver.say("extract_content")
    assert "Outside" in said
    assert "Inside words" in said
    await driver.open(f"{site.base}/none")
    assert "no text" in await driver.fail("extract_content")
