"""Every graph of langgraph.json on the server, many runs at once, and what blocks it."""

import asyncio
import contextlib
from typing import Any

import pytest
from langgraph_sdk import get_client

from tests.browser.site import Site
from tests.server import ScriptedServer, call, calls, mentions, text
from tests.server_api.dev_server import DevServer
from tests.server_api.studio import Studio, said

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

END = call("terminate", status="success", answer="Done.")
AT_ONCE = 10
PLANNING = call("planning", command="create", plan_id="p", title="Trip", steps=["Pack", "Go"])
COUNT = call("python_execute", code="print(sum(range(5)))")


@pytest.mark.parametrize(
    ("graph", "turn", "observed"),
    [
        ("planner", PLANNING, "Plan: Trip (ID: p)"),
        ("data_analysis", COUNT, "10\n[exit code 0]"),
    ],
)
async def test_a_run_of_each_profile(studio: Studio, graph: str, turn: Any, observed: str) -> None:
    ended = await studio.run(None, turn, calls(END, text="Done."), graph=graph)
    assert (ended["status"], ended["stop_reason"]) == ("finished", "terminated")
    assert observed in said(ended)[2][1]


async def test_a_run_of_the_browser(studio: Studio) -> None:
    with contextlib.closing(Site()) as site:
        site.pages["/"] = "<title>Shop</title><p>Darjeeling costs 7 euros.</p>"
        turn = call("browser_use", action="go_to_url", url=site.base)
        end = call("terminate", status="success", answer="Seven.")
        ended = await studio.run(None, turn, end, graph="browser")
    assert ended["stop_reason"] == "terminated", ended["output"]
    assert ended["output"] == "Seven."
    assert "Darjeeling" in studio.server.requests[-1].text


async def test_a_call_that_blocks_is_noticed(dev: DevServer, model: ScriptedServer) -> None:
    model.script(call("nap"), END)
    before = len(dev.log)
    async with get_client(url=dev.url, api_key=None) as client:
        ended: Any = await client.runs.wait(None, "planted", input={"request": "Sleep."})
    assert "Blocking call to time.sleep" in said(ended)[2][1]
    assert "BlockingError" in dev.log[before:]  # what each test here looks for
    model.verify()


async def test_ten_runs_at_once(studio: Studio) -> None:
    # each waits until all have begun: nine at once, and a tenth after them, would never end
    meet = "touch {0}/{1}; until [ $(ls {0} | wc -l) = {2} ]; do sleep 0.1; done; echo met {1}"
    place = studio.workspace / "met"
    place.mkdir(parents=True)
    for own in range(AT_ONCE):
        command = meet.format(place, own, AT_ONCE)
        turns = call("bash", command=command, timeout=100), text(f"I am {own}.")
        studio.server.when(mentions(f"Go {own}."), *turns)
    threads = [await studio.thread() for _ in range(AT_ONCE)]
    ended = await asyncio.gather(
        *(studio.run(thread, request=f"Go {own}.") for own, thread in enumerate(threads))
    )
    for own, values in enumerate(ended):
        assert values["output"] == f"I am {own}."
        assert [kind for kind, _ in said(values)] == ["human", "ai", "tool", "ai"]
        assert said(values)[2][1] == f"met {own}\n[exit code 0]"
    kept = [await studio.values(thread) for thread in threads]
    assert [values["messages"] for values in kept] == [values["messages"] for values in ended]


async def test_a_run_of_it(studio: Studio) -> None:
    turns = call("lookup", word="thread"), text("A conversation.")
    ended = await studio.run(None, *turns, graph="glossary")
    assert (ended["status"], ended["output"]) == ("finished", "A conversation.")
    assert said(ended)[2] == ("tool", "a conversation of one or more runs")
    sent = studio.server.requests[-1].body
    assert sent["messages"][0]["content"].startswith("You explain words. Work in ")
    [lookup, _] = sent["tools"]
    assert lookup["function"] == {
        "name": "lookup",
        "description": "Look a word up in the team's glossary.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string", "description": "The word, in the singular."}},
            "required": ["word"],
        },
    }
