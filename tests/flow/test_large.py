"""Flows on a large scale: what they store and keep within the model's window."""

import re
from typing import Any

import pytest

from manus.nodes.context.turns import is_summary
from manus.prompts import compaction as prompts
from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.server import mentions, text, tokens

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


async def test_each_request_of_a_long_thread_is_carried_out(
    flow: ScriptedFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(WINDOW))
    notes = text("- The town was walked through. [#1]", usage=tokens(10, 10))
    flow.server.when(mentions(prompts.SUMMARIZER[:40])).always(notes)
    flow.plans().always(makes("walk"))
    flow.step("walk").always(succeeds("Walked."))
    flow.sums_up().always(text("I saw a wall, a door, a window. " * 60))
    for number in range(8):
        request = f"Walk through town {number}. " + "Look at each house. " * 250
        assert (await flow.run(request=request)).stop_reason == "completed"
    values = await flow.values()
    assert values["compaction"]["count"] >= 1
    assert sum(map(is_summary, values["messages"])) == 1
    assert max(len(request.raw) for request in flow.server.requests) / 4 < WINDOW


async def test_storage_grows_with_the_steps(flow: ScriptedFlow) -> None:
    """Twice the steps take at most two and a half times the room; squared it would be four."""
    result = "".join(f"{number:05d}" for number in range(400))  # 2,000 characters
    for thread, count in (("six", 6), ("twelve", 12)):
        flow.plans(makes(*(f"part {i} of {count}" for i in range(count))))
        flow.step(f"of {count}").always(succeeds(result))
        flow.sums_up(text("All."))
        await flow.run(thread=thread)
    six, twelve = [await stored(flow, thread) for thread in ("six", "twelve")]
    assert twelve < 2.5 * six


async def stored(flow: ScriptedFlow, thread: str) -> int:
    """Bytes that the flow's own checkpoints and writes take."""
    saver: Any = flow.saver
    total = 0
    for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
        query = f"SELECT SUM(LENGTH({column})) FROM {table} WHERE thread_id = ?"
        total += saver.conn.execute(f"{query} AND checkpoint_ns = ''", (thread,)).fetchone()[0]
    return total
