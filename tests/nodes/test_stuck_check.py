"""The measures against loops, one at a time, and what is counted at each step."""

from dataclasses import replace

import pytest
from langgraph.types import Command

from manus.nodes.turn import loop_detection
from tests.helpers.agent import TESTER, ScriptedAgent, assert_paired
from tests.server import call, text

READ = call("read", path="missing")


async def test_hint_refusal_end(agent: ScriptedAgent) -> None:
    events = await agent.events(*[READ] * 6)
    outcome = await agent.outcome()
    assert (outcome.status, outcome.stop_reason) == ("idle", "stuck")
    assert outcome.success is False
    assert "stuck" in outcome.output
    assert [e["measure"] for e in events if e["type"] == "loop"] == ["hint", "refuse", "ask"]
    hinted = ["stuck in a loop" in r.last["content"] for r in agent.server.requests]
    assert hinted == [False, False, False, True, False, False]
    seen = await agent.observations()
    assert seen[:4] == ["There is no file missing."] * 4
    assert all(text.startswith("Not executed") and "4 times" in text for text in seen[4:])
    assert outcome.usage["tool_calls"] == 4, "what was refused was not executed"
    assert_paired(await agent.messages())


async def test_calls_that_nobody_wants_leave_silence_which_is_a_loop(agent: ScriptedAgent) -> None:
    outcome = await agent.run(*[call("append", path="a", line="1")] * 4, tool_choice="none")
    assert outcome.stop_reason == "stuck"
    assert (await agent.values())["loop"]["kind"] == "silence"
    hinted = ["last 3 replies were empty" in r.text for r in agent.server.requests]
    assert hinted == [False, False, False, True]
    assert agent.lines("a") == []


async def test_a_slow_build_is_polled_until_it_is_done(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_detection, "SLOW", 0.05)
    profile = replace(TESTER, tools=("bash", "terminate"))
    builder = ScriptedAgent(agent.server, agent.workspace, agent.saver, profile)
    # done at the sixth look, so that the machine's speed decides nothing
    state = "echo >> looks; test $(wc -l < looks) -ge 6 && echo built || echo building"
    look = call("bash", command=f"sleep 0.1; {state}")
    outcome = await builder.run(*[look] * 6, text("It is built."))
    assert outcome.stop_reason == "answered"
    seen = [observation.splitlines()[0] for observation in await builder.observations()]
    assert seen == ["building"] * 5 + ["built"]
    hinted = ["You are waiting" in r.text for r in agent.server.requests]
    assert hinted == [False, False, False, True, False, False, False]


async def test_a_person_is_asked_and_the_answer_goes_on(agent: ScriptedAgent) -> None:
    waiting = await agent.run(*[READ] * 6, interactive=True)
    assert waiting.stop_reason == "interrupted"
    assert "stuck" in waiting.output
    assert "`read`" in waiting.output
    outcome = await agent.invoke(
        Command(resume="Look in b."), READ, READ, text("All right."), interactive=True
    )
    assert (outcome.stop_reason, outcome.output) == ("answered", "All right.")
    assert agent.server.requests[6].messages[-2]["content"] == "Look in b."
    assert (await agent.observations())[6:] == ["There is no file missing."] * 2, "not refused"
    assert "loop" not in agent.server.requests[-1].text, "what came before does not count"
    last = await agent.run(*[READ] * 6, interactive=True, max_steps=6, thread="last")
    assert last.stop_reason == "stuck", "no step is left for an answer"
