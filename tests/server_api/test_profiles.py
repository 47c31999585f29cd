"""The browser's profile and a user's own on the server, and many runs at once."""

import asyncio
import contextlib

import pytest

from tests.browser.site import Site
from tests.server import call, mentions, text
from tests.server_api.studio import Studio, said

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


async def test_a_run_of_the_browser(studio: Studio) -> None:
    with contextlib.closing(Site()) as site:
        site.pages["/"] = "<title>Shop</title><p>Darjeeling costs 7 euros.</p>"
        turn = call("browser_use", action="go_to_url", url=site.base)
        end = call("terminate", status="success", answer="Seven.")
        ended = await studio.run(None, turn, end, graph="browser")
    assert ended["stop_reason"] == "terminated", ended["output"]
    assert ended["output"] == "Seven."
    assert "Darjeeling" in studio.server.requests[-1].text


async def test_ten_runs_at_once(studio: Studio) -> None:
    # each waits until all have begun: nine at once, and a tenth after them, would never end
    meet = "touch {0}; until [ $(ls -d ? | wc -l) = 10 ]; do sleep 0.1; done; echo met {0}"
    for own in range(10):
        work = call("bash", command=meet.format(own), timeout=100)
        studio.server.when(mentions(f"Go {own}."), work, text(f"I am {own}."))
    ended = await asyncio.gather(*(studio.run(None, request=f"Go {own}.") for own in range(10)))
    for own, values in enumerate(ended):
        assert [kind for kind, _ in said(values)] == ["human", "ai", "tool", "ai"]
        assert said(values)[2][1] == f"met {own}\n[exit code 0]"
        assert values["output"] == f"I am {own}."


async def test_a_run_of_a_users_own(studio: Studio) -> None:
    turns = call("lookup", word="thread"), text("A conversation.")
    ended = await studio.run(None, *turns, graph="glossary")
    assert (ended["status"], ended["output"]) == ("finished", "A conversation.")
    assert said(ended)[2] == ("tool", "a conversation of one or more runs")
    sent = studio.server.requests[-1].body
    assert sent["messages"][0]["content"].startswith("You explain words, in one sentence each. Wo")
    [lookup, *_] = [tool["function"] for tool in sent["tools"]]
    assert lookup["name"] == "lookup"
    assert lookup["description"] == "Look a word up in the team's glossary."
