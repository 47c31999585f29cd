"""What is gathered of an agent's runs, from the checkpoints that real runs wrote."""

from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Command

from manus.graph.state_update import reopen
from manus.prompts import compaction as prompts
from manus.run_report.files import files_of
from manus.run_report.page import page, state
from manus.trace.model import Run, Tokens
from manus.trace.reading import read_trace
from tests.helpers.agent import TESTER, ScriptedAgent, thread_config
from tests.server import Message, call, calls, mentions, text, tokens

PLANNING = replace(TESTER, name="planning", tools=("planning",))


async def runs_of(agent: ScriptedAgent, *, is_running: bool = False) -> list[Run]:
    return await read_trace(agent.saver, "t", is_running=is_running)


async def page_of(agent: ScriptedAgent, thread: str = "t") -> str:
    return page(thread, await read_trace(agent.saver, thread))


def used(reply: Message, prompt: int, completion: int, cached: int = 0) -> Message:
    return replace(reply, usage=tokens(prompt, completion, cached=cached))


async def test_steps_calls_and_what_came_of_them(agent: ScriptedAgent) -> None:
    details = {"cached_tokens": 100, "cache_write_tokens": 40}
    wrote = {**tokens(170, 5), "prompt_tokens_details": details}
    await agent.run(
        used(
            calls(
                call("append", path="a", line="1"),
                call("read", path="missing"),
                call("nothing", x=1),
                text="I try three things.",
            ),
            100,
            20,
        ),
        used(calls(call("append", path="a", line="2")), 150, 10, cached=90),
        replace(text("Done, **all** of it."), usage=wrote),
        request="Do three things.",
    )
    [run] = await runs_of(agent)
    assert (run.request, run.output) == ("Do three things.", "Done, **all** of it.")
    assert (run.kind, run.profile, run.workspace) == ("agent", "tester", str(agent.workspace))
    assert state(run) == ("Finished", "good")
    assert run.models == ["scripted"]
    assert [step.thought for step in run.steps] == [
        "I try three things.",
        "",
        "Done, **all** of it.",
    ]
    first = run.steps[0]
    assert [(c.name, c.is_error) for c in first.calls] == [
        ("append", False),
        ("read", True),
        ("nothing", True),
    ]
    assert first.calls[0].observation == "Appended to a."
    assert first.calls[1].observation == "There is no file missing."
    assert [step.tokens.total for step in run.steps if step.tokens] == [120, 160, 175]
    assert run.tokens == Tokens(420, 35, 190, None, 40)
    moments = [m for s in run.steps for m in (s.began, s.thought_at, s.ended) if m]
    assert moments == sorted(moments)
    assert run.idle == []


async def test_a_loop_is_told_where_it_was_found(agent: ScriptedAgent) -> None:
    same = call("append", path="a", line="x")
    await agent.run(*[same] * 6, request="Go round.")
    [run] = await runs_of(agent)
    told = [(s.number, n.kind) for s in run.steps for n in s.notices]
    assert told == [(step, "loop") for step in (3, 4, 5, 6)]
    assert "append" in run.steps[2].notices[0].text
    assert (run.stop_reason, state(run)[1]) == ("stuck", "warn")


async def test_a_question_waits_and_is_answered(agent: ScriptedAgent) -> None:
    await agent.run(call("ask_human", inquire="Which colour?"), request="Paint it.")
    [waiting] = await runs_of(agent)
    assert waiting.is_waiting
    assert waiting.steps[0].calls[0].observation is None
    await agent.invoke(Command(resume="blue"), text("Blue it is."))
    [run] = await runs_of(agent)
    assert not run.is_waiting
    [step, last] = run.steps
    assert step.calls[0].observation == "blue"
    kinds = [notice.kind for notice in step.notices]
    assert kinds == ["question", "resumed"]
    assert step.notices[0].text == "Which colour?"
    assert len(run.idle) == 1
    assert last.thought == "Blue it is."


async def test_a_run_that_goes_on_after_its_end_is_one_run(agent: ScriptedAgent) -> None:
    await agent.run(call("append", path="a", line="1"), request="Do it.", max_steps=1)
    assert await reopen(agent.graph, thread_config("t"))
    await agent.invoke(None, text("Done."), max_steps=5)
    [run] = await runs_of(agent)
    assert (run.stop_reason, run.output, len(run.steps)) == ("answered", "Done.", 2)
    assert [notice.kind for notice in run.steps[0].notices] == ["resumed"]


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


async def test_a_fork_shows_the_newest_line(agent: ScriptedAgent) -> None:
    await agent.run(call("append", path="a", line="1"), text("The first end."), request="Do it.")
    config = thread_config("t")
    states = [s async for s in agent.graph.aget_state_history(config)]
    early = next(s for s in states if s.next == ("think",) and s.values.get("run"))
    forked = await agent.graph.aupdate_state(
        early.config, {"messages": [HumanMessage("Another way.")]}, as_node="stuck_check"
    )
    agent.server.script(text("The second end."))
    await agent.graph.ainvoke(None, forked, context=agent.context())
    runs = await read_trace(agent.saver, "t")
    assert runs[-1].output == "The second end."
    assert runs[-1].request == "Another way."
    assert "The first end." not in [s.thought for run in runs for s in run.steps]


async def test_the_workspace_may_be_gone(agent: ScriptedAgent, tmp_path: Path) -> None:
    await agent.run(call("append", path="a", line="1"), text("Done."))
    [run] = await runs_of(agent)
    assert [file.path for file in files_of(run)[0]] == ["a"]
    agent.workspace.rename(tmp_path / "elsewhere")
    files, note = files_of(run)
    assert files == []
    assert str(agent.workspace) in note


async def test_what_it_cost(agent: ScriptedAgent, tmp_path: Path) -> None:
    (tmp_path / "manus.toml").write_text("[prices.scripted]\ninput = 1.0\noutput = 2.0\n")
    outcome = await agent.run(
        used(calls(call("append", path="a", line="1")), 1_000, 100), used(text("Done."), 2_000, 50)
    )
    [run] = await runs_of(agent)
    total = run.tokens
    assert total.cost == pytest.approx(outcome.usage["cost"]) == pytest.approx(0.0033)
    html = await page_of(agent)
    assert "0.0033" in html
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
