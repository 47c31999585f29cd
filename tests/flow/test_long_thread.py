"""A thread of many requests to a flow: its own history is made shorter when it grows too long."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from manus.nodes.context.turns import is_summary
from manus.prompts import compaction as prompts
from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.server import Request, fail, mentions, text, tokens

WINDOW = 8_000
REQUESTS = 12


def is_too_large(request: Request) -> bool:
    """As a server would count it whose tokens have four characters each."""
    return len(request.raw) / 4 > WINDOW


async def test_each_request_of_a_long_thread_is_carried_out(
    flow: ScriptedFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(WINDOW))
    flow.server.when(is_too_large).always(fail(400, code="context_length_exceeded"))
    flow.server.when(mentions(prompts.SUMMARIZER[:40])).always(
        text("- The town was walked through. [#1]", usage=tokens(10, 10))
    )
    flow.plans().always(makes("walk"))
    flow.step("walk").always(succeeds("Walked."))
    flow.sums_up().always(text("I saw a wall, a door, a window. " * 60))
    for number in range(REQUESTS):
        request = f"Walk through town {number}. " + "Look at each house. " * 120
        outcome = await flow.run(request=request)
        assert outcome.stop_reason == "completed", f"request {number}: {outcome.output}"
    values = await flow.values()
    assert values["compaction"]["count"] >= 1
    assert sum(map(is_summary, values["messages"])) == 1
    asked = [m for m in values["messages"] if isinstance(m, HumanMessage)]
    assert f"town {REQUESTS - 1}." in str(asked[-1].text)
    assert not any(map(is_too_large, flow.server.requests))
