"""`langgraph dev` from a clean copy, driven through the SDK as Studio does."""

import asyncio
import contextlib
import json
from collections import defaultdict
from contextlib import suppress
from typing import Annotated, Any

import psutil
import pytest
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph, add_messages
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from manus.config.context import Context
from manus.state.agent import AgentState
from manus.state.flow import FlowState
from tests.browser.site import Site
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.helpers.processes import processes_in, until
from tests.server import call, calls, mentions, text
from tests.server_api.dev_server import DevServer
from tests.server_api.studio import Studio, is_there, list_messages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

END = call("terminate", status="success", answer="Done.")
SLEEP = call("bash", command="echo $$ > pid; sleep 1000 & sleep 1000")


@pytest.mark.parametrize("graph", ["agent", "flow"])
async def test_forms_created_by_studio(studio: Studio, graph: str) -> None:
    [assistant] = await studio.client.assistants.search(graph_id=graph)
    schemas: Any = await studio.client.assistants.get_schemas(assistant["assistant_id"])
    inputs = schemas["input_schema"]["properties"]
    assert {name: field["type"] for name, field in inputs.items()} == {
        "request": "string",
        "messages": "array",
    }
    options = schemas["context_schema"]["properties"]
    assert set(options) == set(Context.model_fields)
    assert all(field.get("description") for field in options.values())
    assert {"output", "stop_reason", "usage"} <= set(schemas["output_schema"]["properties"])
    state = AgentState if graph == "agent" else FlowState
    assert set(schemas["state_schema"]["properties"]) == {*state.__annotations__, "request"}


async def test_a_run_is_streamed_as_it_happens_and_forked_from_each_checkpoint(
    studio: Studio,
) -> None:
    studio.server.script(
        calls(call("bash", command="echo hi > made.txt; echo $$ > pid"), text="I write a file."),
        calls(END, text="Written."),
    )
    thread = await studio.thread()
    arguments: Any = {"input": {"request": "Write a file."}, "context": studio.context()}
    modes: Any = ["values", "updates", "messages-tuple", "custom"]
    parts: dict[str, list[Any]] = defaultdict(list)
    async for part in studio.client.runs.stream(thread, "agent", stream_mode=modes, **arguments):
        parts[part.event].append(part.data)
    last = parts["values"][-1]
    assert (last["status"], last["stop_reason"], last["success"]) == ("finished", "terminated", 1)
    kinds = [kind for kind, _ in list_messages(last)]
    assert kinds == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert list_messages(last)[0] == ("human", "Write a file.")
    assert [[*update] for update in parts["updates"]] == [["think"], ["act"], ["stuck_check"]] * 2
    spoken = [m for m, _ in parts["messages"] if m["type"] == "AIMessageChunk"]
    assert "".join(m["content"] for m in spoken) == "I write a file.Written."
    pieces = [piece for m in spoken for piece in m["tool_call_chunks"]]
    assert [piece["name"] for piece in pieces if piece["name"]] == ["bash", "terminate"]
    first, _ = json.JSONDecoder().raw_decode("".join(piece["args"] or "" for piece in pieces))
    assert first == {"command": "echo hi > made.txt; echo $$ > pid"}
    happened = [event["type"] for event in parts["custom"] if event["type"] != "status"]
    assert happened == ["step", "thought", "call", "observation"] * 2
    assert (studio.workspace / "made.txt").read_text() == "hi\n"
    assert processes_in(studio.workspace) == []

    forks = await studio.fork_everywhere(thread)
    other = await studio.run(thread, text("Once more."), input=None, checkpoint_id=forks[-2])
    assert [words for _, words in list_messages(other)][-2:] == ["And now?", "Once more."]


async def test_a_fork_restores_the_files_if_its_context_asks_for_it(studio: Studio) -> None:
    thread = await studio.thread()
    first = call("bash", command="echo 0 > 0.txt")
    second = call("bash", command="mv 0.txt 1.txt")
    await studio.run(thread, first, second, text("Done."))
    states: Any = await studio.client.threads.get_history(thread, limit=100)
    [after_first] = [
        s for s in states if s["next"] == ["think"] and len(list_messages(s["values"])) == 3
    ]
    studio.server.script(text("Again."))
    parts = studio.client.runs.stream(
        thread,
        "agent",
        input=None,
        checkpoint_id=str(after_first["checkpoint"]["checkpoint_id"]),
        context=studio.context(restore_files=True),
        stream_mode="custom",
    )
    events = [part.data async for part in parts if part.event == "custom"]
    [restored] = [event for event in events if event["type"] == "files"]
    assert sorted(restored["restored"]) == ["0.txt", "1.txt"]
    assert {path.name for path in studio.workspace.glob("*.txt")} == {"0.txt"}


async def test_invalid_input_is_reported(studio: Studio) -> None:
    context = studio.context(max_steps=0)
    stream = studio.client.runs.stream(None, "agent", input={"request": "x"}, context=context)
    parts = [part async for part in stream]
    assert parts[-1].event == "error"
    assert "`max_steps` is not valid" in parts[-1].data["message"]


class Outer(TypedDict, total=False):
    request: str
    messages: Annotated[list[AnyMessage], add_messages]
    output: str
    stop_reason: str


async def test_the_agent_as_a_node_of_a_graph_elsewhere(studio: Studio) -> None:
    config: RunnableConfig = {"configurable": studio.context()}
    builder = StateGraph(Outer)
    builder.add_node("work", RemoteGraph("agent", client=studio.client, config=config))
    builder.add_edge(START, "work")
    studio.server.script(call("bash", command="echo hi > made.txt"), text("It is made."))
    result = await builder.compile().ainvoke({"request": "Make it."})
    assert (result["stop_reason"], result["output"]) == ("answered", "It is made.")
    # a text after calls is sent back once, and the model repeats it
    types = [message.type for message in result["messages"]]
    assert types == ["human", "ai", "tool", "ai", "ai"]
    assert result["messages"][-1].text == "It is made."
    assert (studio.workspace / "made.txt").read_text() == "hi\n"


def sleepers(dev: DevServer) -> list[int]:
    pids = []
    for process in dev.below():
        with suppress(psutil.NoSuchProcess):  # other processes come and go meanwhile
            pids += [process.pid] if process.name() == "sleep" else []
    return pids


async def test_cancelled_in_a_tool(studio: Studio, dev: DevServer) -> None:
    thread = await studio.thread()
    run = await studio.begin(thread, SLEEP)
    shell = await studio.pid()
    # the shell reports its id before it starts to sleep
    await until(lambda: len(sleepers(dev)) >= 2)
    below = sleepers(dev)
    await studio.client.runs.cancel(thread, run, wait=True)
    await until(lambda: not any(map(is_there, [shell, *below])))
    result = await studio.run(thread, text("Good that you stopped me."), request="Enough.")
    assert result["stop_reason"] == "answered"
    assert [kind for kind, _ in list_messages(result)] == ["human", "ai", "tool", "human", "ai"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("interrupt", ["human", "ai", "tool", "human", "ai"]), ("rollback", ["human", "ai"])],
)
async def test_a_request_that_cuts_in(studio: Studio, strategy: str, expected: list[str]) -> None:
    thread = await studio.thread()
    await studio.begin(thread, SLEEP)
    shell = await studio.pid()
    now = {"request": "No, this.", "multitask_strategy": strategy}
    result = await studio.run(thread, text("At once."), **now)
    assert [kind for kind, _ in list_messages(result)] == expected
    assert not is_there(shell)


def script(studio: Studio, *steps: str) -> None:
    studio.server.when(is_planner, makes("alpha", "beta"))
    for step in steps:
        studio.server.when(is_step(step), succeeds(f"{step} is done."))
    studio.server.when(is_summary, *[text("All is done.")] * (len(steps) - 1))


def list_steps(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(step["text"], step["status"]) for step in values["plan"]["steps"]]


async def test_its_plan_is_edited_between_two_steps_and_forked(studio: Studio) -> None:
    script(studio, "alpha", "gamma", "delta")
    thread = await studio.thread()
    stops: dict[str, Any] = {"graph": "flow", "interrupt_before": ["execute_step"]}
    planned = await studio.run(thread, **stops)
    assert list_steps(planned) == [("alpha", "not_started"), ("beta", "not_started")]
    half = await studio.run(thread, input=None, **stops)
    while list_steps(half)[0] != ("alpha", "completed"):
        half = await studio.run(thread, input=None, **stops)
    before: Any = await studio.client.threads.get_state(thread)

    edit = {"plan": {"step": 1, "text": "gamma"}}
    await studio.client.threads.update_state(thread, edit)
    result = await studio.run(thread, input=None, graph="flow")
    assert list_steps(result) == [("alpha", "completed"), ("gamma", "completed")]

    edit = {"plan": {"step": 1, "text": "delta"}}
    fork = await studio.client.threads.update_state(thread, edit, checkpoint=before["checkpoint"])
    other = await studio.run(
        thread, input=None, graph="flow", checkpoint_id=fork["checkpoint"]["checkpoint_id"]
    )
    assert list_steps(other) == [("alpha", "completed"), ("delta", "completed")]
    assert other["output"] == "All is done."
    requests = [request for request in studio.server.requests if is_step("alpha")(request)]
    assert len(requests) == 1  # the work before the fork was done once
    await studio.fork_everywhere(thread)


async def test_a_run_of_the_browser(studio: Studio) -> None:
    with contextlib.closing(Site()) as site:
        site.pages["/"] = "<title>Shop</title><p>Darjeeling costs 7 euros.</p>"
        turn = call("browser_use", action="go_to_url", url=site.base)
        end = call("terminate", status="success", answer="Seven.")
        result = await studio.run(None, turn, end, graph="browser")
    assert result["stop_reason"] == "terminated", result["output"]
    assert result["output"] == "Seven."
    assert "Darjeeling" in studio.server.requests[-1].text


async def test_ten_runs_at_once(studio: Studio, subtests: pytest.Subtests) -> None:
    # each waits until all have started: nine at a time, followed by a tenth, would never finish
    meet = "touch {0}; until [ $(ls -d ? | wc -l) = 10 ]; do sleep 0.1; done; echo met {0}"
    for own in range(10):
        work = call("bash", command=meet.format(own), timeout=100)
        studio.server.when(mentions(f"Go {own}."), work, text(f"I am {own}."))
    result = await asyncio.gather(*(studio.run(None, request=f"Go {own}.") for own in range(10)))
    for own, values in enumerate(result):
        with subtests.test(own=own, values=values):
            assert [kind for kind, _ in list_messages(values)] == [
                "human",
                "ai",
                "tool",
                "ai",
                "ai",
            ]
            assert list_messages(values)[2][1] == f"met {own}\n[exit code 0]"
            assert values["output"] == f"I am {own}."


async def test_a_remote_graph_is_used_like_a_local_one(studio: Studio) -> None:
    graph = RemoteGraph("agent", client=studio.client)
    config: Any = {"configurable": {"thread_id": await studio.thread()}}
    context: Any = studio.context()
    ends = call("terminate", status="success", answer="The red one.")
    studio.server.script(call("ask_human", inquire="Which?"), ends, text("Again."))
    waiting = await graph.ainvoke({"request": "Choose."}, config, context=context)
    assert "Which?" in str(waiting["__interrupt__"])
    result = await graph.ainvoke(Command(resume="Red."), config, context=context)
    assert result["output"] == "The red one."
    parts: list[Any] = [
        part
        async for part in graph.astream(
            {"request": "And now?"}, config, context=context, stream_mode=["updates", "values"]
        )
    ]
    assert {part[0] for part in parts} == {"updates", "values"}
    assert parts[-1][1]["output"] == "Again."
    assert str(studio.server.requests[-1].messages).count("The red one.") == 1


async def test_a_run_of_a_custom_graph(studio: Studio) -> None:
    turns = call("lookup", word="thread"), text("A conversation.")
    result = await studio.run(None, *turns, graph="glossary")
    assert (result["status"], result["output"]) == ("finished", "A conversation.")
    assert list_messages(result)[2] == ("tool", "a conversation of one or more runs")
    body = studio.server.requests[-1].body
    assert body["messages"][0]["content"].startswith("You explain words, in one sentence each. Wo")
    [lookup, *_] = [tool["function"] for tool in body["tools"]]
    assert lookup["name"] == "lookup"
    assert lookup["description"] == "Look a word up in the team's glossary."
