"""A flow from request to summary, small and large."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from manus.config.context import Context
from manus.graph import build_flow
from manus.graph.profiles import all_executors
from manus.nodes import turns
from manus.prompts import compaction as prompts
from manus.state.plan import format_plan
from scripts.record_calculator import TASK
from tests.flow.helpers import ScriptedFlow, is_planner, is_step, is_summary, makes, succeeds
from tests.server import call, calls, fail, mentions, text, tokens

PLANNED, LOOKED = tokens(100, 10), tokens(1_000, 1, cached=500)


async def test_plan_steps_summary(flow: ScriptedFlow, subtests: pytest.Subtests) -> None:
    """An executor sees the request, the plan, and the results of the steps it depends on."""
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
    [write] = flow.requests_for(is_step("write"))
    [apart] = flow.requests_for(is_step("apart"))
    assert "Make a.txt." in write.text
    assert "0. [✓] look\n1. [→] (your step)\n2. [ ] apart" in write.text
    assert "Step 0 [✓]\nResult: Looked: 42." in write.text
    assert "Results of" not in apart.text
    [summary] = flow.requests_for(is_summary)
    for message in ("Make a.txt.", "Looked: 42.", "Written.", "Apart."):
        with subtests.test(message=message):
            assert message in summary.text
    usage = outcome.usage
    assert (usage["input_tokens"], usage["output_tokens"]) == (13_105, 33)
    assert (usage["cached_tokens"], usage["model_calls"], usage["tool_calls"]) == (500, 5, 2)
    assert usage["seconds"] > 0


async def test_a_step_goes_to_its_executor_with_the_images(
    flow: ScriptedFlow, subtests: pytest.Subtests
) -> None:
    names = ("alpha", "beta", "gamma")
    flow.plans(makes("[SECOND] alpha", "[0] then [tester] beta", "gamma"))
    for name in names:
        flow.step(name, succeeds())
    flow.sums_up(text("All."))
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    await flow.invoke({"messages": [HumanMessage([{"type": "text", "text": "See."}, picture])]})
    requests = [request for name in names for request in flow.requests_for(is_step(name))]
    seconds = [r.messages[0]["content"].startswith("You are the second one") for r in requests]
    assert seconds == [True, False, False]
    for request in requests:
        with subtests.test(request=request):
            request_text, image = request.messages[1]["content"]
            assert "See." in request_text["text"]
            assert image == picture
    assert [s["executor"] for s in (await flow.plan())["steps"]] == ["second", "tester", "tester"]


async def test_a_second_request_creates_a_new_plan(flow: ScriptedFlow) -> None:
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
    assert "First result." not in format_plan(values["plan"])
    assert second.usage["model_calls"] == 3  # its own, without those of the first run
    assert [str(m.text) for m in await flow.messages()] == ["One?", "One.", "Two?", "Two."]
    assert "One." in flow.requests_for(is_planner)[1].text


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
    recording = Path(__file__).parents[2] / "manus" / "recordings" / "flow_calculator.jsonl"
    context = Context(workspace="w", model=f"replay:{recording}")
    outcome = await build_flow(all_executors()).ainvoke({"request": TASK}, context=context)
    assert outcome["stop_reason"] == "completed", outcome["output"]
    results = [step["result"] for step in outcome["plan"]["steps"]]
    files = [result["files"] for result in results if result is not None]
    assert files == [["calculator.py"], ["test_calculator.py"], [], []]
    sums = [sys.executable, "w/calculator.py", "6", "*", "7"]
    assert subprocess.run(sums, capture_output=True, check=True).stdout == b"42\n"


WINDOW = 12_000
PASTED = "Count the foxes.\n" + "一只敏捷的棕色狐狸 jumped over.\n" * 15_000 + "That was all."


async def test_planner_executor_and_summary_see_both_ends_and_the_file(
    flow: ScriptedFlow, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(WINDOW))
    flow.plans(makes("count"))
    flow.step("count", succeeds("Counted."))
    flow.sums_up(text("All is counted."))
    outcome = await flow.run(request=PASTED)
    assert (outcome.stop_reason, outcome.success) == ("completed", True)
    requests = flow.server.requests
    assert len(requests) == 3
    for request in requests:
        with subtests.test(request=request):
            assert len(request.raw) < 4 * WINDOW
            assert "Count the foxes.\\n一只" in request.raw.decode()
            match = re.search(r"all [\d,]+ are in (\S+) …\]", request.text)
            assert match is not None
            assert PASTED in (flow.workspace / match[1]).read_text("utf-8")


async def test_each_request_of_a_long_thread_is_executed(
    flow: ScriptedFlow, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(WINDOW))
    notes = text("- The town was walked through. [#1]", usage=tokens(10, 10))
    flow.server.when(mentions(prompts.SUMMARIZER[:40])).always(notes)
    flow.plans().always(makes("walk"))
    flow.step("walk").always(succeeds("Walked."))
    flow.sums_up().always(text("I saw a wall, a door, a window. " * 60))
    for number in range(8):
        with subtests.test(number=number):
            request = f"Walk through town {number}. " + "Look at each house. " * 250
            assert (await flow.run(request=request)).stop_reason == "completed"
    values = await flow.values()
    assert values["compaction"]["count"] >= 1
    assert sum(map(turns.is_summary, values["messages"])) == 1
    assert max(len(request.raw) for request in flow.server.requests) / 4 < WINDOW


async def test_storage_grows_with_the_steps(flow: ScriptedFlow) -> None:
    """Twice the steps take at most 2.5 times the space; quadratic growth would take four."""
    result = "".join(f"{number:05d}" for number in range(400))  # 2,000 characters
    for thread, count in (("six", 6), ("twelve", 12)):
        flow.plans(makes(*(f"part {i} of {count}" for i in range(count))))
        flow.step(f"of {count}").always(succeeds(result))
        flow.sums_up(text("All."))
        await flow.run(thread=thread)
    saver: Any = flow.saver
    own = "WHERE thread_id = :thread AND checkpoint_ns = ''"
    checkpoint_size = f"(SELECT SUM(LENGTH(checkpoint)) FROM checkpoints {own})"
    stored = f"SELECT {checkpoint_size} + (SELECT SUM(LENGTH(value)) FROM writes {own})"
    six, twelve = (
        saver.conn.execute(stored, {"thread": t}).fetchone()[0] for t in ("six", "twelve")
    )
    assert twelve < 2.5 * six


async def test_an_unknown_executor_is_reported_to_planner_and_user(
    flow: ScriptedFlow, caplog: pytest.LogCaptureFixture
) -> None:
    flow.plans(makes("[analyst] count"), makes("[analyst] count", "[second] write"))
    flow.step("count", succeeds("Two."))
    flow.step("write", succeeds("Written."))
    flow.sums_up(text("Done."))
    outcome = await flow.run()
    assert outcome.stop_reason == "completed"
    [_, again] = flow.requests_for(is_planner)
    problem = "There is no executor [analyst]"
    assert f"{problem}; the executors are: tester, second." in again.text
    assert [record.message for record in caplog.records if problem in record.message] == [
        f"{problem}; tester carries out “[analyst] count”."
    ]


async def test_the_summary_is_asked_for_with_the_files_of_the_steps(flow: ScriptedFlow) -> None:
    flow.plans(makes({"text": "write", "writes": ["b.txt"]}))
    flow.step("write", call("append", path="a.txt", line="Forty-two."), succeeds("Wrote b.txt."))
    flow.sums_up(text("Done."))
    await flow.run()
    [summary] = flow.requests_for(is_summary)
    assert "- b.txt: does not exist" in summary.text
    assert "- a.txt: 11 bytes:\n    Forty-two." in summary.text
