"""Tokens and tool-call arguments of a flow's planner, executors and summary, as they arrive."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessageChunk

from tests.flow.helpers import ScriptedFlow, makes
from tests.helpers.agent import thread_config
from tests.server import call, calls, text


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
