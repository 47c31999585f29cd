"""Streams that end before their reply is complete, that contain none, or that never end."""

import asyncio
from typing import Any

import pytest

from tests.helpers.agent import ScriptedAgent
from tests.server import Raw, Scripted, build_chunk, call, reply_stream, text

HALF_A_TEXT = reply_stream(build_chunk({"content": "The answer is"}), has_end=False)
WRITE = {"name": "append", "arguments": '{"path": "a", "line": "1"}'}
A_CALL = build_chunk(
    {"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": WRITE}]}
)
NO_CHOICES = reply_stream({"choices": []})


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without delay."""
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.001)
    monkeypatch.setattr("manus.models.retry.LONGEST_WAIT", 0.02)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(HALF_A_TEXT, id="text"),
        pytest.param(reply_stream(A_CALL, has_end=False), id="call"),
        pytest.param(reply_stream(has_end=False), id="nothing"),
    ],
)
@pytest.mark.environ(MANUS_RETRY_FOR="0.2")
async def test_a_stream_that_breaks_off_is_an_outage(agent: ScriptedAgent, broken: Raw) -> None:
    agent.server.always(broken)
    outcome = await agent.run()
    assert (outcome.stop_reason, outcome.success) == ("interrupted", False)
    assert len(agent.server.requests) > 2
    assert agent.lines("a") == []
    assert "closed the connection" in outcome.output


@pytest.mark.environ(MANUS_RETRY_FOR="60")
async def test_a_stream_that_breaks_off_twice_is_requested_until_it_is_complete(
    agent: ScriptedAgent,
) -> None:
    outcome = await agent.run(HALF_A_TEXT, HALF_A_TEXT, text("The answer is 42."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "The answer is 42.")
    assert outcome.usage["model_calls"] == 1


@pytest.mark.parametrize(
    "complete",
    [
        pytest.param(reply_stream(A_CALL), id="only [DONE]"),
        pytest.param(
            reply_stream(A_CALL, build_chunk({}, "tool_calls"), has_end=False), id="only a reason"
        ),
    ],
)
async def test_a_stream_with_either_end_is_complete(agent: ScriptedAgent, complete: Raw) -> None:
    outcome = await agent.run(complete, text("Done."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Done.")
    assert agent.lines("a") == ["1"]
    assert len(agent.server.requests) == 2


@pytest.mark.environ(MANUS_RETRY_FOR="60")
async def test_three_replies_without_choices_are_an_error(agent: ScriptedAgent) -> None:
    async with asyncio.timeout(30):
        outcome = await agent.run(NO_CHOICES, NO_CHOICES, NO_CHOICES)
    assert (outcome.status, outcome.stop_reason) == ("error", "error")
    assert "without choices" in outcome.output
    assert len(agent.server.requests) == 3


@pytest.mark.environ(MANUS_RETRY_FOR="60")
async def test_a_reply_after_two_without_choices_counts(agent: ScriptedAgent) -> None:
    outcome = await agent.run(NO_CHOICES, NO_CHOICES, text("Here."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Here.")


ALIVE: dict[str, Any] = build_chunk({"content": ""})


@pytest.mark.parametrize(
    "endless",
    [
        pytest.param(reply_stream(*[ALIVE] * 600, pace=0.1), id="empty deltas"),
        pytest.param(reply_stream(*[": alive\n\n"] * 600, pace=0.1), id="comments"),
    ],
)
async def test_a_budget_of_seconds_ends_a_call_that_does_not_end(
    agent: ScriptedAgent, endless: Scripted
) -> None:
    async with asyncio.timeout(30):
        outcome = await agent.run(call("poll"), endless, budget={"seconds": 2})
    assert (outcome.status, outcome.stop_reason) == ("idle", "budget")
    assert "seconds (" in outcome.output
    assert "of 2" in outcome.output
    assert outcome.usage["model_calls"] == 2, "the request was sent, and is billed"
    assert outcome.usage["estimated"] is True


@pytest.mark.environ(MANUS_RETRY_FOR="300")
async def test_a_budget_of_seconds_ends_the_wait_for_a_server(agent: ScriptedAgent) -> None:
    agent.server.always(HALF_A_TEXT)
    async with asyncio.timeout(30):
        outcome = await agent.run(budget={"seconds": 1})
    assert outcome.stop_reason == "budget"
