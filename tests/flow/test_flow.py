"""A flow from request to summary."""

import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from manus.graph import build_flow
from manus.graph.profiles import all_executors
from manus.state.context import Context
from manus.state.plan import as_text
from scripts.record_calculator import TASK
from tests.flow.helpers import ScriptedFlow, is_planner, is_step, is_summary, makes, succeeds
from tests.server import calls, fail, text, tokens

PLANNED, LOOKED = tokens(100, 10), tokens(1_000, 1, cached=500)


async def test_plan_steps_summary(flow: ScriptedFlow) -> None:
    """An executor sees the request, the plan, and the results of what its step builds on."""
    flow.plans(calls(makes("look", "write", {"text": "apart", "depends_on": []}), usage=PLANNED))
    flow.step("look", calls(succeeds().calls[0], text="Looked: 42.", usage=LOOKED))
    flow.step("write", calls(succeeds().calls[0], text="Written.", usage=tokens(2_000, 2)))
    flow.step("apart", text("Apart.", usage=tokens(5, 0)))
    flow.sums_up(text("All is fine.", usage=tokens(10_000, 20)))
    outcome = await flow.run(request="Make a.txt.", max_parallel_steps=1)
    assert (outcome.status, outcome.stop_reason, outcome.success) == ("finished", "completed", True)
    assert outcome.output == "All is fine."
    assert outcome.results == [
        "Step 0: look (completed) → Looked: 42.",
        "Step 1: write (completed) → Written.",
        "Step 2: apart (completed) → Apart.",
    ]
    assert outcome.plan is not None
    results = [step["result"] for step in outcome.as_json()["plan"]["steps"]]
    assert [(r["text"], r["tokens"]) for r in results] == [
        ("Looked: 42.", 1_001),
        ("Written.", 2_002),
        ("Apart.", 5),
    ]
    [write] = flow.asked(is_step("write"))
    [apart] = flow.asked(is_step("apart"))
    assert "Make a.txt." in write.text
    assert "0. [✓] look\n1. [→] write\n2. [ ] apart" in write.text
    assert "Step 0 [✓] look\nResult: Looked: 42." in write.text
    assert "Results of" not in apart.text
    [summary] = flow.asked(is_summary)
    for said in ("Make a.txt.", "Looked: 42.", "Written.", "Apart."):
        assert said in summary.text
    usage = outcome.usage
    assert (usage["input_tokens"], usage["output_tokens"]) == (13_105, 33)
    assert (usage["cached_tokens"], usage["model_calls"], usage["tool_calls"]) == (500, 5, 2)
    assert usage["seconds"] > 0


async def test_the_pictures_of_a_request_go_to_each_step(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", succeeds())
    flow.step("beta", succeeds())
    flow.sums_up(text("All."))
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    await flow.invoke({"messages": [HumanMessage([{"type": "text", "text": "See."}, picture])]})
    for step in ("alpha", "beta"):
        [asked] = flow.asked(is_step(step))
        said, shown = asked.messages[1]["content"]
        assert "See." in said["text"]
        assert shown == picture


async def test_a_step_goes_to_the_executor_it_names(flow: ScriptedFlow) -> None:
    flow.plans(makes("[SECOND] alpha", "[nobody] beta", "gamma"))
    for name in ("alpha", "beta", "gamma"):
        flow.step(name, succeeds())
    flow.sums_up(text("All."))
    await flow.run()
    systems = [flow.asked(is_step(n))[0].messages[0]["content"] for n in ("alpha", "beta", "gamma")]
    assert [s.startswith("You are the second one") for s in systems] == [True, False, False]
    assert [s["executor"] for s in (await flow.plan())["steps"]] == ["second", "tester", "tester"]


async def test_a_second_request_makes_a_new_plan_beside_the_first(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha"), makes("beta"))
    flow.step("alpha", succeeds("First result."))
    flow.step("beta", succeeds())
    flow.sums_up(text("One."), text("Two."))
    first = await flow.run(request="One?")
    second = await flow.run(request="Two?")
    assert (first.output, second.output) == ("One.", "Two.")
    assert second.stop_reason == "completed"
    values = await flow.values()
    assert [(s["text"], s["status"]) for s in values["plan"]["steps"]] == [("beta", "completed")]
    earlier = values["plans"]["p"]
    assert (values["plan"]["id"], earlier["steps"][0]["result"]["text"]) == ("p_2", "First result.")
    assert "First result." not in as_text(values["plan"])
    assert second.usage["model_calls"] == 3  # its own, not the first run's too
    assert [str(m.text) for m in await flow.messages()] == ["One?", "One.", "Two?", "Two."]
    assert "One." in flow.asked(is_planner)[1].text


async def test_a_model_that_is_down_for_the_plan_and_at_the_summary(flow: ScriptedFlow) -> None:
    flow.plans(fail(401), makes("alpha"))
    flow.step("alpha", succeeds("Found 42."))
    flow.sums_up(fail(401))
    outcome = await flow.run()
    assert (outcome.status, outcome.stop_reason, outcome.success) == ("error", "error", False)
    assert "key" in outcome.output
    assert not outcome.plan
    again = await flow.run(request="Again.")
    assert (again.status, again.stop_reason) == ("finished", "completed")
    assert "Result: Found 42." in again.output


async def test_the_recording_that_we_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recording = Path(__file__).parents[2] / "recordings" / "flow_calculator.jsonl"
    context = Context(workspace="w", model=f"replay:{recording}")
    ended = await build_flow(all_executors()).ainvoke({"request": TASK}, context=context)
    assert ended["stop_reason"] == "completed", ended["output"]
    made = [step["result"]["files"] for step in ended["plan"]["steps"]]
    assert made == [["calculator.py"], ["test_calculator.py"], [], []]
    sums = [sys.executable, "w/calculator.py", "6", "*", "7"]
    assert subprocess.run(sums, capture_output=True, check=True).stdout == b"42\n"
