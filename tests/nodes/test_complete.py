"""Asking the model: what is tried again, how often, after which wait, and what is said then."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import Scripted, call, cut, fail, hang, raw, text

SOON = {"retry-after-ms": "1"}
HTML = raw(b"<html>Bad gateway</html>", 502, headers=SOON)


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a server that hangs; long enough for one that answers, on a busy machine too."""
    monkeypatch.setenv("MANUS_TIMEOUT", "1")


def retries(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == "retry"]


@pytest.mark.parametrize(
    ("reply", "counted"),
    [
        (fail(429, headers=SOON), 1),
        (fail(500, headers=SOON), 1),
        (fail(503, headers=SOON), 1),
        (HTML, 1),
        (cut(0), 2),
        (cut(2), 2),
        (hang(), 2),
    ],
)
async def test_what_may_pass_is_tried_again(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, reply: Scripted, counted: int
) -> None:
    be_impatient(monkeypatch)
    events = await agent.events(reply, text("Here I am."))
    outcome = await agent.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "Here I am.")
    assert [event["attempt"] for event in retries(events)] == [1]
    assert outcome.usage["model_calls"] == counted, "what a provider refused is not billed"
    first, second = agent.server.requests
    assert first.raw == second.raw


@pytest.mark.parametrize("reply", [cut(4), hang(after_chunks=4)])
async def test_a_stream_that_breaks_off_is_begun_anew(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, reply: Scripted
) -> None:
    be_impatient(monkeypatch)
    await agent.watched(reply, text("All of it."))
    assert [m.text for m in await agent.messages() if isinstance(m, AIMessage)] == ["All of it."]


@pytest.mark.parametrize(
    "reply",
    [
        fail(400, message="No."),
        fail(401),
        fail(403),
        fail(404),
        fail(422, message="No."),
        fail(429, code="insufficient_quota"),
        fail(400, code="context_length_exceeded"),
    ],
)
async def test_what_cannot_pass_is_not(agent: ScriptedAgent, reply: Scripted) -> None:
    events = await agent.events(reply)
    outcome = await agent.outcome()
    assert (outcome.status, outcome.stop_reason) == ("error", "error")
    assert len(agent.server.requests) == 1
    assert retries(events) == []
    assert "\n" not in outcome.output
    assert "Retry" not in outcome.output
    assert agent.server.base_url in outcome.output or "`scripted`" in outcome.output


async def test_the_servers_own_wait_is_kept(agent: ScriptedAgent) -> None:
    events = await agent.events(fail(429, retry_after=0.3), fail(503, retry_after=0.2), text("So."))
    first, second, third = agent.server.requests
    assert second.at - first.at >= 0.3
    assert third.at - second.at >= 0.2
    waits = [event["wait"] for event in retries(events)]
    assert 0.3 <= waits[0] <= 0.34
    assert 0.2 <= waits[1] <= 0.23
    assert "429" in retries(events)[0]["reason"]


async def test_a_server_that_is_away_interrupts_the_run_which_goes_on_when_resumed(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its step is the next one, however often the server is still away."""
    monkeypatch.setenv("MANUS_RETRY_FOR", "0")
    down = fail(503, message="Sorry.")
    outcome = await agent.run(call("append", path="a", line="1"), down)
    assert (outcome.stop_reason, outcome.success) == ("interrupted", False)
    assert "failed (503): Sorry." in outcome.output
    for again in (down, text("Here I am.")):
        agent.server.script(again)
        assert (await agent.graph.aget_state(thread_config("t"))).next == ("think",)
        await agent.graph.ainvoke(None, thread_config("t"), context=agent.context())
    outcome = await agent.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "Here I am.")
    assert agent.lines("a") == ["1"]
    assert len(agent.server.requests) == 4


async def test_a_server_that_comes_back_is_waited_for(agent: ScriptedAgent) -> None:
    """Nobody listens for a while: it is tried again until somebody does."""
    address = agent.server.base_url
    agent.server.close()
    events = await agent.events()
    outcome = await agent.outcome()
    assert outcome.stop_reason == "interrupted"
    assert len(retries(events)) >= 2
    assert f"The model server at {address} cannot be reached" in outcome.output


async def test_a_slow_steady_reply_is_waited_for(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is on silence: a reply that takes longer than it comes in one try, unwatched."""
    be_impatient(monkeypatch)
    long = "word " * 8
    agent.server.always(text(long, pace=0.1))
    outcome = await agent.run()
    assert (outcome.stop_reason, outcome.output) == ("answered", long.strip())
    assert len(agent.server.requests) == 1
    assert outcome.usage["seconds"] > 1


@pytest.mark.parametrize("bad", ["cut off", "repeats"])
async def test_a_reply_that_is_no_answer_is_asked_for_once_more(
    agent: ScriptedAgent, bad: str
) -> None:
    reply = (
        text("Half of", finish_reason="length")
        if bad == "cut off"
        else text("So it begins. " + "I will look at the file again. " * 60)
    )
    outcome = await agent.run(reply, text("In short."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "In short.")
    outcome = await agent.run(reply, reply, thread="u")
    assert (outcome.status, outcome.stop_reason, outcome.success) == ("error", "error", False)
    assert bad in outcome.output


async def test_a_reply_without_end_is_cut_off(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("manus.models.normalize.MOST_REPLY", 1_000)
    long = text(" ".join(map(str, range(2_000))))
    outcome = await agent.run(long, long)
    assert (outcome.stop_reason, outcome.success) == ("error", False)
    assert "cut off" in outcome.output


async def test_a_reply_without_usage_is_paid_for_once(agent: ScriptedAgent) -> None:
    outcome = await agent.run(text("Hello.", usage=None))
    assert len(agent.server.requests) == 1
    assert outcome.stop_reason == "answered"
    assert outcome.usage["model_calls"] == 1
    assert outcome.usage["output_tokens"] > 0
    assert outcome.usage["estimated"] is True


async def test_no_tool_is_executed_before_the_whole_reply_is_there(agent: ScriptedAgent) -> None:
    write = call("append", path="a", line="1")
    await agent.run(cut(6, reply=write), text("Nothing done."))
    assert agent.lines("a") == []
