"""What a flow costs: storage that grows with the work, and nothing that blocks the event loop."""

from __future__ import annotations

from typing import Any

from blockbuster import blockbuster_ctx

from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.helpers.agent import thread_config
from tests.server import call, calls, text


async def test_storage_grows_with_the_steps(flow: ScriptedFlow) -> None:
    """Twice the steps take at most two and a half times the room; squared it would be four."""
    result = "".join(f"{number:05d}" for number in range(400))  # 2,000 characters
    for thread, count in (("ten", 10), ("twenty", 20)):
        flow.plans(makes(*(f"part {i} of {count}" for i in range(count))))
        flow.step(f"of {count}").always(succeeds(result))
        flow.sums_up(text("All."))
        await flow.run(thread=thread)
    ten, twenty = [await stored(flow, thread) for thread in ("ten", "twenty")]
    assert twenty < 2.5 * ten


async def stored(flow: ScriptedFlow, thread: str) -> int:
    """Bytes that the flow's own checkpoints and writes take."""
    saver: Any = flow.saver
    total = 0
    for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
        query = f"SELECT SUM(LENGTH({column})) FROM {table} WHERE thread_id = ?"
        total += saver.conn.execute(f"{query} AND checkpoint_ns = ''", (thread,)).fetchone()[0]
    return total


async def test_nothing_blocks_the_event_loop(flow: ScriptedFlow) -> None:
    flow.plans(makes("alpha", "beta"))
    flow.step("alpha", call("append", path="a.txt", line="1"), succeeds())
    flow.step("beta", calls(call("planning", command="list"), call("poll")), succeeds())
    flow.sums_up(text("All."))
    given = {"request": "Do it."}
    context = flow.context()
    with blockbuster_ctx(scanned_modules=["graph", "nodes", "state", "prompts"]):
        await flow.graph.ainvoke(given, thread_config("t"), context=context)
    assert (await flow.outcome()).stop_reason == "completed"
