"""What is gathered of an agent's runs, from the checkpoints that real runs wrote."""

from dataclasses import replace
from pathlib import Path

import pytest

from manus.prompts import compaction as prompts
from manus.run_report.page import page, state
from manus.trace.model import Run
from manus.trace.reading import read_trace
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.server import Message, call, calls, mentions, text, tokens

PLANNING = replace(TESTER, name="planning", tools=("planning",))


async def runs_of(agent: ScriptedAgent) -> list[Run]:
    return await read_trace(agent.saver, "t")


async def page_of(agent: ScriptedAgent) -> str:
    return page("t", await runs_of(agent))


def used(reply: Message, prompt: int, completion: int) -> Message:
    return replace(reply, usage=tokens(prompt, completion))


async def test_a_loop_is_told_where_it_was_found(agent: ScriptedAgent) -> None:
    same = call("append", path="a", line="x")
    await agent.run(*[same] * 6, request="Go round.")
    [run] = await runs_of(agent)
    told = [(s.number, n.kind) for s in run.steps for n in s.notices]
    assert told == [(step, "loop") for step in (3, 4, 5, 6)]
    assert "append" in run.steps[2].notices[0].text
    assert (run.stop_reason, state(run)[1]) == ("stuck", "warn")


async def test_messages_that_were_taken_out_are_still_told(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "6000")
    agent.server.when(mentions(prompts.SUMMARIZER[:40])).always(text("- It was long. [#2]"))
    words = "word " * 600
    replies = [
        calls(call("append", path="a", line=f"{place}"), text=f"{place}: {words}")
        for place in range(12)
    ]
    await agent.run(*replies, text("Done."), request="Write much.", max_steps=30)
    history = await agent.messages()
    [run] = await runs_of(agent)
    assert len(run.steps) == 13
    assert len(history) < 2 * 13
    notices = [n for step in run.steps for n in step.notices if n.kind == "compaction"]
    assert notices
    assert "replaced by notes" in notices[0].title
    assert all(c.observation == "Appended to a." for s in run.steps for c in s.calls)


async def test_what_it_cost(agent: ScriptedAgent, tmp_path: Path) -> None:
    (tmp_path / "manus.toml").write_text("[prices.scripted]\ninput = 1.0\noutput = 2.0\n")
    outcome = await agent.run(
        used(calls(call("append", path="a", line="1")), 1_000, 100), used(text("Done."), 2_000, 50)
    )
    [run] = await runs_of(agent)
    assert run.tokens["cost"] == pytest.approx(outcome.usage["cost"]) == pytest.approx(0.0033)
    html = await page_of(agent)
    assert "<dd>0.0033<small>by the price table</small></dd>" in html


async def test_the_plan_that_an_agent_keeps_for_itself(agent: ScriptedAgent) -> None:
    planner = ScriptedAgent(agent.server, agent.workspace, agent.saver, PLANNING)
    create = {"command": "create", "plan_id": "p", "title": "Trip", "steps": ["book", "pack"]}
    mark = {"command": "mark_step", "step_index": 0, "step_status": "completed"}
    await planner.run(call("planning", create), call("planning", mark), text("Half of it."))
    [run] = await runs_of(planner)
    assert run.plan is not None
    assert [step["status"] for step in run.plan["steps"]] == ["completed", "not_started"]
    html = await page_of(planner)
    assert "Its own plan" in html
    assert '<li class="completed">book' in html
