"""The graphs used as by LangGraph's users: sync and async, as nodes, interrupted and resumed."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.config import get_store
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from manus import build_agent, build_flow, scripted
from manus.graph.run_graph import RunGraph
from manus.graph.state_update import reopen
from manus.scripted import ScriptedModel
from manus.state.errors import ThreadBusyError
from manus.threads.sqlite import SqliteStore
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.helpers.agent import TESTER, ScriptedAgent, thread_config
from tests.server import ScriptedServer, call, hang, text

REQUEST = {"request": "Do it."}
T = thread_config("t")


@pytest.fixture
def context(server: ScriptedServer, tmp_path: Path) -> dict[str, Any]:
    return {
        "workspace": str(tmp_path / "w"),
        "model": "scripted",
        "base_url": server.base_url,
        "record": "",  # a form field that was left empty
    }


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """Open the store outside any event loop."""
    (tmp_path / "s").touch()
    store = SqliteStore(tmp_path / "s")
    yield store
    store.close()


def call_all_methods(graph: RunGraph, context: Any) -> list[str]:
    """Return the results of `invoke`, `stream`, `batch` and the state methods, in order."""
    outputs = [graph.invoke(REQUEST, T, context=context)["output"]]
    parts = list(graph.stream(REQUEST, T, context=context, stream_mode="values"))
    outputs.append(parts[-1]["output"])
    threads = [thread_config("a"), thread_config("b")]
    outputs += [f["output"] for f in graph.batch([REQUEST] * 2, threads, context=context)]
    assert graph.get_state(T).values["output"] == outputs[1]
    assert len(list(graph.get_state_history(T, limit=2))) == 2
    graph.update_state(T, {"output": "Edited."})
    assert graph.get_state(T).values["output"] == "Edited."
    assert "think" in graph.get_graph().draw_mermaid() or "plan" in graph.get_graph().draw_mermaid()
    return outputs


def test_outside_an_event_loop(server: ScriptedServer, context: Any, store: SqliteStore) -> None:
    server.when(is_planner).always(makes("alpha"))
    server.when(is_step("alpha")).always(succeeds())
    server.when(is_summary).always(text("All."))
    flow = build_flow((TESTER,), checkpointer=store)
    assert call_all_methods(flow, context) == ["All."] * 4


async def test_inside_an_event_loop(agent: ScriptedAgent, context: Any) -> None:
    agent.server.always(text("Done."))
    assert call_all_methods(agent.graph, context) == ["Done."] * 4


@dataclass
class ParentContext:
    """The context of another graph, which includes some of our fields."""

    workspace: str
    model: str
    base_url: str
    max_steps: int = 1
    colour: str = "blue"


def around(agent: RunGraph) -> Any:
    """Return a graph of messages with the agent as its only node."""
    builder: Any = StateGraph(MessagesState, context_schema=ParentContext)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    return builder


async def test_a_node_of_a_graph(server: ScriptedServer, context: Any, saver: SqliteStore) -> None:
    """It inherits context and checkpointer; the request is the human message."""
    graph = around(build_agent(TESTER)).compile(checkpointer=saver)
    theirs = ParentContext(**{k: v for k, v in context.items() if v}, max_steps=2)
    server.script(call("append", path="a", line="1"), call("ask_human", inquire="On?"))
    waiting = await graph.ainvoke({"messages": [("user", "Do it.")]}, T, context=theirs)
    assert "On?" in str(waiting["__interrupt__"])
    result = await graph.ainvoke(Command(resume="yes"), T, context=theirs)
    kinds = [m.type for m in result["messages"]]
    assert kinds == ["human", *["ai", "tool"] * 2, "ai"], "two steps: the parent's max_steps"
    assert result["messages"][-2].text == "yes"
    assert Path(context["workspace"], "a").read_text() == "1\n"


def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"sunny in {city}"


@tool
def who(runtime: ToolRuntime[Any]) -> str:
    """Return who asks."""
    return str(runtime.context.colour)


@tool
def remember(text: str) -> str:
    """Remember a text."""
    get_store().put(("notes",), "newest", {"text": text})
    return "kept"


def chat_model(name: str, server: ScriptedServer) -> ChatOpenAI:
    values: dict[str, Any] = {"model": name, "api_key": "theirs", "base_url": server.base_url}
    return ChatOpenAI(**values)


@pytest.fixture
def model(server: ScriptedServer) -> ChatOpenAI:
    """Return a chat model with its key, as a caller creates it."""
    return chat_model("scripted", server)


class TestAsCreateAgent:
    """Code for LangChain's `create_agent` works, in a folder without settings."""

    @pytest.fixture(autouse=True)
    def in_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def test_a_chat_model_and_functions(self, server: ScriptedServer, model: ChatOpenAI) -> None:
        store = InMemoryStore()
        server.script(call("weather", city="Rome"), call("remember", text="blue"), text("Sunny."))
        options: Any = {"tools": [weather, remember], "system_prompt": "You know the weather."}
        agent = build_agent(model, **options, store=store)
        result = agent.invoke({"messages": [{"role": "user", "content": "And in Rome?"}]})
        assert [m.type for m in result["messages"]] == ["human", *["ai", "tool"] * 2, "ai"]
        stored = store.get(("notes",), "newest")
        assert stored is not None
        assert stored.value == {"text": "blue"}
        assert result["messages"][-1].content == "Sunny."
        request = server.requests[-1]
        assert request.headers["authorization"] == "Bearer theirs"
        assert request.body["messages"][0]["content"] == "You know the weather."
        assert "terminate" not in request.text  # it is not among the tools

    def test_a_name_may_come_first(self, server: ScriptedServer, context: Any) -> None:
        server.always(text("Hi."))
        del context["model"]
        agent = build_agent("azure_openai:scripted", tools=[weather])
        assert agent.profile.model == "azure_openai:scripted"
        result = build_agent("openai:scripted").invoke({"messages": "Hi."}, context=context)
        assert (result["output"], server.requests[-1].body["model"]) == ("Hi.", "scripted")
        context["model"] = "other"
        build_agent("openai:scripted").invoke({"messages": "Hi."}, context=context)
        assert server.requests[-1].body["model"] == "other", "the context takes precedence"

    def test_a_context_of_the_callers_own(
        self, server: ScriptedServer, model: ChatOpenAI, subtests: pytest.Subtests
    ) -> None:
        """Its tools get all of it; the fields that ours also has apply to the run."""
        server.always(call("who"))
        agent = build_agent(model, tools=[who], context_schema=ParentContext)
        theirs = ParentContext(workspace="w", model="", base_url="", colour="red")
        for context in (theirs, vars(theirs)):
            with subtests.test(context=context):
                result = agent.invoke(REQUEST, context=context)
                assert [m.text for m in result["messages"][:3]] == ["Do it.", "", "red"]

    async def test_in_a_stream(self, server: ScriptedServer, model: ChatOpenAI) -> None:
        """Of the surrounding graph, whose context it has."""
        server.script(call("who"))
        theirs = ParentContext(workspace="w", model="", base_url="", colour="red")
        inputs: Any = {"messages": [("user", "Do it.")]}
        graph = around(build_agent(model, tools=[who])).compile()
        stream = graph.astream(inputs, context=theirs, subgraphs=True)
        nodes = [(len(space), *part) async for space, part in stream]
        assert nodes == [(1, "think"), (1, "act"), (1, "stuck_check"), (0, "agent")]

    def test_a_flow_and_its_executor(self, server: ScriptedServer, model: ChatOpenAI) -> None:
        """Each with its own model."""
        server.when(is_planner, makes("alpha"))
        server.when(is_summary, text("All."))
        with ScriptedServer() as other:
            other.when(is_step("alpha"), succeeds())
            worker = build_agent(chat_model("other", other), tools=["terminate"])
            result = build_flow([worker], model=model).invoke({"messages": "Do it."})
            assert (result["output"], len(other.requests)) == ("All.", 1)


async def test_leaving_a_stream_and_the_callers_recursion_limit(agent: ScriptedAgent) -> None:
    agent.server.script(call("poll"))
    options: Any = {"context": agent.context(), "stream_mode": "updates"}
    stream = agent.graph.astream(REQUEST, T, **options)
    assert "think" in await anext(stream)  # and nothing else, nor is it closed
    outcome = await agent.run(text("Something else."), request="No, this.")
    assert (outcome.stop_reason, outcome.output) == ("answered", "Something else.")
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    agent.server.script(call("poll"))
    limited: Any = {**T, "recursion_limit": 3}
    with pytest.raises(GraphRecursionError):
        await agent.graph.ainvoke(REQUEST, limited, context=agent.context())


async def test_two_graphs_on_one_store_hold_a_thread_in_turn(agent: ScriptedAgent) -> None:
    """The lock is that of the command line: it works across processes."""
    agent.server.script(hang())
    first = asyncio.create_task(agent.run())
    await agent.server.wait_async(1)
    other = ScriptedAgent(agent.server, agent.workspace, agent.saver)
    with pytest.raises(ThreadBusyError):
        await other.run(request="Me too.")
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await other.run(text("Now."))).output == "Now."


async def test_a_stuck_run_continues_without_its_loop(agent: ScriptedAgent) -> None:
    agent.server.always(call("read", path="missing"))
    assert (await agent.run(max_steps=50)).stop_reason == "stuck"
    count = len(agent.server.requests)
    assert await reopen(agent.graph, T)
    outcome = await agent.invoke(None, max_steps=50)
    assert outcome.stop_reason == "stuck"
    assert len(agent.server.requests) > count + 2, "it is detected again, but not immediately"


def _open_to(server: ScriptedServer) -> int:
    connections = psutil.Process().net_connections("tcp")
    return sum(
        bool(connection.raddr) and connection.raddr.port == server.port
        for connection in connections
    )


def test_a_loop_that_ends_leaves_no_connection_open(
    server: ScriptedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    monkeypatch.setenv("MANUS_MODEL", "scripted")
    monkeypatch.setenv("MANUS_BASE_URL", server.base_url)
    open_in_run: list[int] = []

    async def run(request: str) -> str:
        context = {"workspace": str(tmp_path)}
        reached = await build_agent().ainvoke({"request": request}, context=context)
        open_in_run.append(_open_to(server))
        return str(reached["output"])

    for request in ("One.", "Two.", "Three."):
        with subtests.test(request=request):
            server.script(text(request))
            assert asyncio.run(run(request)) == request
            assert _open_to(server) == 0
    assert open_in_run == [1, 1, 1]


def test_a_scripted_model_may_repeat_a_reply(context: dict[str, Any]) -> None:
    model, same = ScriptedModel(), scripted.calls(scripted.call("bash", command="echo a"))
    done = scripted.text("Done.")  # sent back once, since it may be an announcement
    model.script(same, same, done, done)
    model.when("else", scripted.text("Other."))
    graph = build_agent("swe", model=model)
    here = {"workspace": context["workspace"]}
    result = graph.invoke(REQUEST, context=here)
    assert [m.type for m in result["messages"]] == ["human", *(["ai", "tool"] * 2), "ai", "ai"]
    assert (result["output"], len(model.requests)) == ("Done.", 4)
    assert graph.invoke({"request": "Something else."}, context=here)["output"] == "Other."
    assert "The script has no more replies" in graph.invoke(REQUEST, context=here)["output"]
