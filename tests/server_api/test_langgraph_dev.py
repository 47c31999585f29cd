"""`langgraph dev` from a clean copy, driven through the SDK as Studio does."""

import json
from contextlib import suppress
from typing import Any

import psutil
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from manus.state.agent import AgentState
from manus.state.context import Context
from manus.state.flow import FlowState
from tests.helpers.processes import working_in
from tests.server import ScriptedServer, call, calls, hang, text
from tests.server_api.dev_server import ROOT, DevServer
from tests.server_api.studio import Studio, is_there, said, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

END = call("terminate", status="success", answer="Done.")
SHELL = call("bash", command="echo $$ > pid; X=5")
SLEEP = call("bash", command="echo $$ > pid; sleep 1000 & sleep 1000")
QUESTION = call("ask_human", inquire="Which colour?")


async def test_graphs_and_their_drawing(studio: Studio) -> None:
    found = await studio.client.assistants.search()
    assert {"agent", "flow"} <= {assistant["graph_id"] for assistant in found}
    drawing = await studio.client.assistants.get_graph(await studio.assistant("agent"))
    names = {node["id"] for node in drawing["nodes"]}
    assert names == {"__start__", "think", "act", "stuck_check", "__end__"}
    edges = {(edge["source"], edge["target"]): edge.get("data") for edge in drawing["edges"]}
    assert edges["think", "act"] == "call"
    assert edges["stuck_check", "think"] == "next_step"
    assert "terminated" in str(edges["stuck_check", "__end__"])


@pytest.mark.parametrize("graph", ["agent", "flow"])
async def test_forms_that_studio_makes(studio: Studio, graph: str) -> None:
    schemas: Any = await studio.client.assistants.get_schemas(await studio.assistant(graph))
    given = schemas["input_schema"]["properties"]
    assert set(given) == {"request", "messages"}
    assert given["request"]["type"] == "string"
    assert given["messages"]["type"] == "array"
    chosen = schemas["context_schema"]["properties"]
    assert set(chosen) == set(Context.model_fields)
    assert all(field.get("description") for field in chosen.values())
    assert {"output", "stop_reason", "usage"} <= set(schemas["output_schema"]["properties"])
    state = AgentState if graph == "agent" else FlowState
    assert set(schemas["state_schema"]["properties"]) == {*state.__annotations__, "request"}


async def test_each_graph_is_a_described_tool_of_the_mcp_endpoint(
    dev: DevServer, model: ScriptedServer
) -> None:
    model.script(calls(END, text="Done."))
    async with (
        streamable_http_client(f"{dev.url}/mcp") as (read, write, *_),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        tools = {tool.title: tool for tool in (await session.list_tools()).tools}
        described = json.loads((ROOT / "langgraph.json").read_text())["graphs"].values()
        told = {tool.description for tool in tools.values()}
        assert {graph["description"] for graph in described} <= told
        for tool in tools.values():
            if tool.title != "planted":
                assert tool.inputSchema["properties"]["request"]["description"]
        called = await session.call_tool(tools["manus"].name, {"request": "Do it."})
    [block] = called.content
    assert not called.isError
    assert "Done." in str(block)
    model.verify()


async def test_a_run_is_streamed_as_it_happens(studio: Studio) -> None:
    studio.server.script(
        calls(call("bash", command="echo hi > made.txt; echo $$ > pid"), text="I write a file."),
        calls(END, text="Written."),
    )
    parts = [
        part
        async for part in studio.client.runs.stream(
            await studio.thread(),
            "agent",
            input={"request": "Write a file."},
            context=studio.context(),
            stream_mode=["values", "updates", "messages-tuple", "custom"],
        )
    ]
    last: Any = [part.data for part in parts if part.event == "values"][-1]
    assert (last["status"], last["stop_reason"], last["success"]) == (
        "finished",
        "terminated",
        True,
    )
    assert [kind for kind, _ in said(last)] == ["human", "ai", "tool", "ai", "tool"]
    assert said(last)[0] == ("human", "Write a file.")
    updates = [list(part.data) for part in parts if part.event == "updates"]
    assert updates == [[n] for n in ["think", "act", "stuck_check"] * 2]
    spoken = [part.data[0] for part in parts if part.event == "messages"]
    words = "".join(m["content"] for m in spoken if m["type"] == "AIMessageChunk")
    assert words == "I write a file.Written."
    pieces = [p for m in spoken if m["type"] == "AIMessageChunk" for p in m["tool_call_chunks"]]
    assert [piece["name"] for piece in pieces if piece["name"]] == ["bash", "terminate"]
    first = [piece["args"] or "" for piece in pieces[: next_call(pieces)]]
    assert json.loads("".join(first)) == {"command": "echo hi > made.txt; echo $$ > pid"}
    happened = [part.data["type"] for part in parts if part.event == "custom"]
    assert [h for h in happened if h != "status"] == ["step", "thought", "call", "observation"] * 2
    assert (studio.workspace / "made.txt").read_text() == "hi\n"
    assert working_in(studio.workspace) == []


def next_call(pieces: list[Any]) -> int:
    """Where the second call begins."""
    return [place for place, piece in enumerate(pieces) if piece["name"]][1]


async def test_a_question_is_answered_later(studio: Studio) -> None:
    thread = await studio.thread()
    waiting = await studio.run(thread, SHELL, QUESTION)
    assert [i["value"]["question"] for i in waiting["__interrupt__"]] == ["Which colour?"]
    assert (await studio.client.threads.get(thread))["status"] == "interrupted"
    shell = await studio.pid()
    assert is_there(shell)
    ended = await studio.run(
        thread, call("bash", command="echo $X"), END, command={"resume": "blue"}
    )
    assert ended["stop_reason"] == "terminated"
    assert [words for kind, words in said(ended) if kind == "tool"][1:3] == [
        "blue",
        "5\n[exit code 0]",
    ]
    assert not is_there(shell)


@pytest.mark.parametrize(
    ("context", "given", "problem"),
    [
        ({"max_steps": 0}, {"request": "x"}, "`max_steps` does not fit"),
        ({"budget": {"tokens": -1}}, {"request": "x"}, "`budget.tokens` does not fit"),
        ({"workspace": "/dev/null"}, {"request": "x"}, "`workspace` lies outside"),
        ({}, {"messages": []}, "There is no request"),
    ],
)
async def test_what_does_not_fit_is_said(
    studio: Studio, context: dict[str, Any], given: dict[str, Any], problem: str
) -> None:
    parts = [
        part
        async for part in studio.client.runs.stream(
            None, "agent", input=given, context=studio.context(**context)
        )
    ]
    assert parts[-1].event == "error"
    assert problem in parts[-1].data["message"]


def sleepers(dev: DevServer) -> list[int]:
    found = []
    for process in dev.below():
        with suppress(psutil.NoSuchProcess):  # others come and go meanwhile
            found += [process.pid] if process.name() == "sleep" else []
    return found


async def test_cancelled_in_a_tool(studio: Studio, dev: DevServer) -> None:
    thread = await studio.thread()
    run = await studio.begin(thread, SLEEP)
    shell = await studio.pid()
    # the shell tells its number before it begins to sleep
    await until(lambda: len(sleepers(dev)) >= 2)
    below = sleepers(dev)
    await studio.client.runs.cancel(thread, run, wait=True)
    await until(lambda: not any(map(is_there, [shell, *below])))
    ended = await studio.run(thread, text("Good that you stopped me."), request="Enough.")
    assert ended["stop_reason"] == "answered"
    assert [kind for kind, _ in said(ended)] == ["human", "ai", "tool", "human", "ai"]


async def test_cancelled_while_the_model_is_asked(studio: Studio) -> None:
    thread = await studio.thread()
    run = await studio.begin(thread, SHELL, hang())
    await studio.server.arrived(2, timeout=60)
    shell = await studio.pid()
    assert is_there(shell)
    await studio.client.runs.cancel(thread, run, wait=True)
    await until(lambda: not is_there(shell))
    # going on, without a new request, asks again what was being asked
    ended = await studio.run(thread, text("Here I am."), input=None)
    assert [kind for kind, _ in said(ended)] == ["human", "ai", "tool", "ai"]


@pytest.mark.parametrize(
    ("strategy", "left"),
    [("interrupt", ["human", "ai", "tool", "human", "ai"]), ("rollback", ["human", "ai"])],
)
async def test_a_request_that_cuts_in(studio: Studio, strategy: str, left: list[str]) -> None:
    thread = await studio.thread()
    await studio.begin(thread, SLEEP)
    shell = await studio.pid()
    ended = await studio.run(
        thread, text("At once."), request="No, this.", multitask_strategy=strategy
    )
    assert [kind for kind, _ in said(ended)] == left
    assert not is_there(shell)
