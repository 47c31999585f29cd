"""Model calls: what is retried, how often, after which delay, and what is reported."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import call, cut, fail, hang, raw, text


def retries(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == "retry"]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without delay."""
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.001)
    monkeypatch.setattr("manus.models.retry.LONGEST_WAIT", 0.02)


@pytest.mark.usefixtures("soon")
async def test_temporarily_rejected_calls_are_retried_and_not_counted(agent: ScriptedAgent) -> None:
    busy = (fail(429), fail(500), fail(503), raw(b"<html>Bad gateway</html>", 502))
    events = await agent.events(*busy, text("Here I am."))
    outcome = await agent.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "Here I am.")
    assert [event["attempt"] for event in retries(events)] == [1, 2, 3, 4]
    assert outcome.usage["model_calls"] == 1
    assert len({request.raw for request in agent.server.requests}) == 1


@pytest.mark.usefixtures("soon")
@pytest.mark.environ(MANUS_RETRY_FOR="60", MANUS_TIMEOUT="1")  # which is enough time for a reply
async def test_broken_streams_are_retried(agent: ScriptedAgent) -> None:
    write = call("append", path="a", line="1")
    failures = (cut(0), cut(4), cut(6, reply=write), hang(), hang(after_chunks=4))
    events = await agent.events(*failures, text("All of it."))
    assert [event["attempt"] for event in retries(events)] == [1, 2, 3, 4, 5]
    assert [m.text for m in await agent.messages() if isinstance(m, AIMessage)] == ["All of it."]
    assert (await agent.outcome()).usage["model_calls"] == 1
    assert agent.lines("a") == [], "no tool is executed before the reply is complete"


async def test_permanent_errors_are_not_retried(
    agent: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    refusals = (fail(400, message="No."), fail(401), fail(400, code="context_length_exceeded"))
    for number, reply in enumerate(refusals, start=1):
        with subtests.test(number=number, reply=reply):
            events = await agent.events(reply, thread=str(number))
            outcome = await agent.outcome(str(number))
            assert (outcome.status, outcome.stop_reason) == ("error", "error")
            assert len(agent.server.requests) == number
            assert retries(events) == []
            assert "\n" not in outcome.output
            assert "Retry" not in outcome.output
            assert agent.server.base_url in outcome.output or "`scripted`" in outcome.output


async def test_the_servers_retry_delay_is_respected_unless_it_is_zero(agent: ScriptedAgent) -> None:
    """With a delay of zero, retries use our own delays instead of following immediately."""
    waits = ((503, "0"), (503, "Wed, 21 Oct 2015 07:28:00 GMT"), (429, "0.4"))
    busy = [fail(status, headers={"Retry-After": wait}) for status, wait in waits]
    events = retries(await agent.events(*busy, text("So.")))
    first, second, third = [event["wait"] for event in events]
    assert 0.025 <= first <= 0.05 <= second <= 0.1
    assert 0.4 <= third <= 0.46
    assert agent.server.requests[3].at - agent.server.requests[2].at >= 0.4
    assert "429" in events[2]["reason"]


@pytest.mark.environ(MANUS_RETRY_FOR="0")
async def test_an_unavailable_server_interrupts_the_run(
    agent: ScriptedAgent, subtests: pytest.Subtests
) -> None:
    """When resumed, its step is the next one, however often the server is still unavailable."""
    down = fail(503, message="Sorry.")
    outcome = await agent.run(call("append", path="a", line="1"), down)
    assert (outcome.stop_reason, outcome.success) == ("interrupted", False)
    assert "failed (503): Sorry." in outcome.output
    for again in (down, text("Here I am.")):
        with subtests.test(again=again):
            agent.server.script(again)
            assert (await agent.graph.aget_state(thread_config("t"))).next == ("think",)
            await agent.graph.ainvoke(None, thread_config("t"), context=agent.context())
    outcome = await agent.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "Here I am.")
    assert agent.lines("a") == ["1"]
    assert len(agent.server.requests) == 4


@pytest.mark.usefixtures("soon")
@pytest.mark.environ(MANUS_RETRY_FOR="0.3")
async def test_retries_stop_after_the_configured_time(agent: ScriptedAgent) -> None:
    """All attempts together, not each one after the one before."""
    agent.server.always(fail(503, headers={"Retry-After": "0"}))
    async with asyncio.timeout(20):
        outcome = await agent.run()
    assert outcome.stop_reason == "interrupted"
    assert len(agent.server.requests) > 2


@pytest.mark.environ(MANUS_TIMEOUT="1")
async def test_a_slow_steady_reply_is_waited_for(agent: ScriptedAgent) -> None:
    """The limit is on silence: a reply that takes longer succeeds at the first attempt."""
    long = "word " * 8
    agent.server.always(text(long, pace=0.12))
    outcome = await agent.run()
    assert (outcome.stop_reason, outcome.output) == ("answered", long.strip())
    assert len(agent.server.requests) == 1
    assert outcome.usage["seconds"] > 1


NO_ANSWERS = [
    (text("Half of", finish_reason="length"), "cut off"),
    (text("So it begins. " + "I will look at the file again. " * 60), "repeat one passage"),
    (text(" ".join(map(str, range(2_000)))), "cut off"),  # endless
]


async def test_a_reply_that_is_not_an_answer_is_requested_once_more(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setattr("manus.models.normalize.MAX_REPLY", 3_000)
    for number, (reply, words) in enumerate(NO_ANSWERS):
        with subtests.test(number=number, reply=reply):
            outcome = await agent.run(reply, text("In short."), thread=f"once {number}")
            assert (outcome.stop_reason, outcome.output) == ("answered", "In short.")
            outcome = await agent.run(reply, reply, thread=f"twice {number}")
            assert (outcome.status, outcome.stop_reason, outcome.success) == (
                "error",
                "error",
                False,
            )
            assert words in outcome.output
