"""A profile and a tool of the user's own on the server, beside ours."""

import pytest

from tests.server import call, text
from tests.server_api.studio import Studio, said

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


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
