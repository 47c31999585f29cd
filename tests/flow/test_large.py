"""Flows on a large scale: what they store, stream, and keep within the model's window."""

import json
import re
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.messages import AIMessageChunk, HumanMessage

from manus.nodes.context.turns import is_summary
from manus.prompts import compaction as prompts
from manus.tools.workspace import Workspace
from tests.flow.helpers import ScriptedFlow, free, is_step, makes, succeeds
from tests.helpers.agent import thread_config
from tests.server import Request, call, calls, fail, mentions, text, tokens

LONG_WINDOW = 8_000
REQUESTS = 12
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
    archives = (Workspace(flow.workspace).records / "archive").glob("*.sqlite")
    assert len(list(archives)) == 3


def is_too_large(request: Request) -> bool:
    """As a server would count it whose tokens have four characters each."""
    return len(request.raw) / 4 > LONG_WINDOW


async def test_each_request_of_a_long_thread_is_carried_out(
    flow: ScriptedFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", str(LONG_WINDOW))
    flow.server.when(is_too_large).always(fail(400, code="context_length_exceeded"))
    flow.server.when(mentions(prompts.SUMMARIZER[:40])).always(
        text("- The town was walked through. [#1]", usage=tokens(10, 10))
    )
    flow.plans().always(makes("walk"))
    flow.step("walk").always(succeeds("Walked."))
    flow.sums_up().always(text("I saw a wall, a door, a window. " * 60))
    for number in range(REQUESTS):
        request = f"Walk through town {number}. " + "Look at each house. " * 120
        outcome = await flow.run(request=request)
        assert outcome.stop_reason == "completed", f"request {number}: {outcome.output}"
    values = await flow.values()
    assert values["compaction"]["count"] >= 1
    assert sum(map(is_summary, values["messages"])) == 1
    asked = [m for m in values["messages"] if isinstance(m, HumanMessage)]
    assert f"town {REQUESTS - 1}." in str(asked[-1].text)
    assert not any(map(is_too_large, flow.server.requests))


async def test_all_of_a_flow_is_streamed(flow: ScriptedFlow) -> None:
    flow.plans(makes("Pack the bag"))
    end = call("terminate", status="success")
    write = call("append", path="bag.txt", line="socks")
    flow.step("Pack", calls(write, text="I pack."), calls(end, text="Packed."))
    flow.sums_up(text("You can go now."))
    stream: Any = flow.graph.astream(
        {"request": "Travel."},
        thread_config("t"),
        context=flow.context(),
        stream_mode="messages",
        subgraphs=True,
    )
    parts = [(space, *data) async for space, data in stream]
    chunks = [part for part in parts if isinstance(part[1], AIMessageChunk)]
    said: dict[str, str] = {}
    arguments: dict[str, str] = {}
    for space, chunk, metadata in chunks:
        node = metadata["langgraph_node"]
        said[node] = said.get(node, "") + chunk.text
        pieces = "".join(piece["args"] or "" for piece in chunk.tool_call_chunks)
        arguments[node] = arguments.get(node, "") + pieces
        assert bool(space) is (node == "think"), "steps are graphs inside the graph"
    assert said["think"] == "I pack.Packed."
    assert said["summarize"] == "You can go now."
    assert json.loads(arguments["plan"])["title"] == "Trip"
    assert arguments["think"].startswith('{"path": "bag.txt"')


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
