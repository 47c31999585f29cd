"""A request larger than the window is planned, carried out and summed up."""

from __future__ import annotations

import re

import pytest

from manus.prompts import compaction as prompts
from tests.flow.helpers import ScriptedFlow, free, is_step, makes, succeeds
from tests.server import call, mentions, text, tokens

WINDOW = 12_000
PASTED = "Count the foxes.\n" + "一只敏捷的棕色狐狸 jumped over.\n" * 15_000 + "That was all."


async def test_planner_executor_and_summary_see_its_ends_and_the_file(
    flow: ScriptedFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(WINDOW))
    flow.plans(makes("count"))
    flow.step("count", succeeds("Counted."))
    flow.sums_up(text("All is counted."))
    outcome = await flow.run(request=PASTED)
    assert (outcome.stop_reason, outcome.success) == ("completed", True)
    sent = flow.server.requests
    assert len(sent) == 3
    for request in sent:
        assert len(request.raw) < 4 * WINDOW
        assert "Count the foxes.\\n一只" in request.raw.decode()
        found = re.search(r"all [\d,]+ are in (\S+) …\]", request.text)
        assert found is not None
        assert PASTED in (flow.workspace / found[1]).read_text("utf-8")


async def test_steps_side_by_side_are_compacted_each_for_itself(
    flow: ScriptedFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "5000")
    names = ("red", "blue", "green")
    flow.plans(makes(*(free(name) for name in names)))
    flow.sums_up(text("All is read."))
    flow.server.when(mentions(prompts.SUMMARIZER[:40])).always(text("", usage=tokens(10, 10)))
    for name in names:
        reads = [call("read", path=f"{name}{number}") for number in range(7)]
        recall = call("recall", query="wall")
        flow.step(name, *reads, recall, succeeds(f"Read {name}."))
        for number in range(7):
            wall = f"{number}: a {name} wall, a door, a window\n" * 100
            (flow.workspace / f"{name}{number}").write_text(wall)
    outcome = await flow.run(request="Read all.", max_parallel_steps=3)
    assert (outcome.stop_reason, outcome.success) == ("completed", True)
    last = {name: flow.asked(is_step(name))[-1] for name in names}
    for name, request in last.items():
        recalled = str(request.messages[-2]["content"])
        assert f"a {name} wall" in recalled
        assert not [other for other in names if other != name and f"a {other} wall" in recalled]
    archives = (flow.workspace / ".manus" / "archive").glob("*.sqlite")
    assert len(list(archives)) == 3
