"""extract_content: the whole page, by pages, by goal, by a model."""

from __future__ import annotations

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
    pages = [await driver.say("extract_content", page=n) for n in range(1, count + 1)]
    assert sum("4,211 penguins" in page for page in pages) == 1
    said = await driver.fail("extract_content", page=count + 1)
    assert f"no page {count + 1}" in said


async def test_with_a_goal_the_parts_that_fit(driver: Driver, site: Site) -> None:
    site.pages["/"] = PAGE
    await driver.open(site.base)
    said = await driver.say("extract_content", goal="How many penguins are there?")
    assert "4,211 penguins" in said
    assert "[…]" in said
    assert len(said) < 6_500


async def test_with_a_model_its_answer(driver: Driver, site: Site) -> None:
    site.pages["/"] = PAGE
    asked: list[tuple[str, list[BaseMessage]]] = []

    async def complete(role: str, messages: list[BaseMessage]) -> str:
        asked.append((role, messages))
        return "4,211"

    driver.session.complete = complete
    await driver.open(site.base)
    said = await driver.say("extract_content", goal="How many penguins?")
    assert said == f"From Report ({site.base}/):\n\n4,211"
    role, messages = asked[0]
    assert role == "extract"
    assert [message.type for message in messages] == ["system", "human"]
    assert "Goal: How many penguins?" in messages[1].text
    assert "4,211 penguins" in messages[1].text
    assert len(messages[1].text) < 41_000


async def test_a_model_that_fails_is_done_without(driver: Driver, site: Site) -> None:
    site.pages["/"] = PAGE

    async def complete(role: str, messages: list[BaseMessage]) -> str:
        raise ModelUnavailableError("The model does not answer.")

    driver.session.complete = complete
    await driver.open(site.base)
    said = await driver.say("extract_content", goal="How many penguins?")
    assert "The model does not answer." in said
    assert "4,211 penguins" in said


async def test_a_page_without_an_article_is_read_whole(driver: Driver, site: Site) -> None:
    rows = "".join(f"<tr><td>Town {n}</td><td>{n * 7}</td></tr>" for n in range(30))
    site.pages["/"] = f"<title>T</title><table>{rows}</table><ul><li>One<li>Two</ul>"
    await driver.open(site.base)
    said = await driver.say("extract_content")
    assert "Town 29" in said
    assert "203" in said
    assert "One" in said


async def test_text_in_a_frame_is_read_too(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<p>Outside</p><iframe src=/in></iframe>"
    site.pages["/in"] = "<p>Inside words</p>"
    await driver.open(site.base)
    said = await driver.say("extract_content")
    assert "Outside" in said
    assert "Inside words" in said


async def test_a_page_without_text(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<canvas></canvas>"
    await driver.open(site.base)
    assert "no text" in await driver.fail("extract_content")
