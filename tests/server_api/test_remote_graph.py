"""The agent and the flow on a server, as nodes of a graph in another process: `RemoteGraph`."""

from typing import Annotated, Any, Literal

import pytest
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from tests.server import call, text
from tests.server_api.studio import Studio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


class Outer(TypedDict, total=False):
    """The state of the graph outside."""

    request: str
    messages: Annotated[list[AnyMessage], add_messages]
    output: str
    stop_reason: str
    question: str
    verdict: str


def judge(state: Outer) -> Outer:
    return {"verdict": f"It said: {state['output']}"}


def remote_of(studio: Studio, graph: str) -> RemoteGraph:
    """The graph on the server; what a run may choose is in the configuration."""
    chosen: RunnableConfig = {"configurable": studio.context()}
    return RemoteGraph(graph, client=studio.client, config=chosen)


def outer(remote: RemoteGraph) -> Any:
    """A graph whose first node is the one on the server."""
    builder = StateGraph(Outer)
    builder.add_node("work", remote)
    builder.add_node("judge", judge)
    builder.add_edge(START, "work")
    builder.add_edge("work", "judge")
    builder.add_edge("judge", END)
    return builder.compile()


async def test_the_agent_as_a_node(studio: Studio) -> None:
    studio.server.script(call("bash", command="echo hi > made.txt"), text("It is made."))
    parts = [
        part
        async for part in outer(remote_of(studio, "agent")).astream(
            {"request": "Make it."}, stream_mode=["updates", "values"], subgraphs=True
        )
    ]
    inner = [next(iter(data)) for ns, mode, data in parts if ns and mode == "updates"]
    assert inner == ["think", "act", "stuck_check", "think", "stuck_check"]
    ended = parts[-1][2]
    assert (ended["stop_reason"], ended["verdict"]) == ("answered", "It said: It is made.")
    assert [message.type for message in ended["messages"]] == ["human", "ai", "tool", "ai"]
    assert (studio.workspace / "made.txt").read_text() == "hi\n"


async def test_its_drawing_and_state(studio: Studio) -> None:
    remote = remote_of(studio, "agent")
    drawn = await remote.aget_graph()
    assert {"think", "act", "stuck_check"} <= set(drawn.nodes)
    thread: RunnableConfig = {"configurable": {"thread_id": await studio.thread()}}
    studio.server.script(text("Good day."))
    await remote.ainvoke({"request": "Hello."}, thread)
    assert (await remote.aget_state(thread)).values["output"] == "Good day."
    assert [state.next async for state in remote.aget_state_history(thread, limit=1)] == [()]


def asking(remote: RemoteGraph) -> Any:
    """A graph that puts the question of the remote one to whoever runs it.

    A remote graph that is itself a node asks again on a resume: LangGraph does not hand it the
    answer. So one node works, and another asks and goes on.
    """

    def there(config: RunnableConfig) -> RunnableConfig:
        return {"configurable": {"thread_id": config["configurable"]["thread_id"]}}

    def to_update(found: Any) -> Outer:
        waiting = found.get("__interrupt__")
        question = waiting[0]["value"]["question"] if waiting else ""
        return {"question": question, "output": found.get("output", "")}

    async def work(state: Outer, config: RunnableConfig) -> Outer:
        return to_update(await remote.ainvoke({"request": state["request"]}, there(config)))

    async def ask(state: Outer, config: RunnableConfig) -> Outer:
        answer = interrupt(state["question"])
        return to_update(await remote.ainvoke(Command(resume=answer), there(config)))

    def route(state: Outer) -> Literal["ask", "judge"]:
        return "ask" if state.get("question") else "judge"

    builder = StateGraph(Outer)
    for node in (work, ask, judge):
        builder.add_node(node)
    builder.add_edge(START, "work")
    for node in (work, ask):
        builder.add_conditional_edges(node.__name__, route)
    return builder.compile(checkpointer=InMemorySaver())


async def test_its_questions_are_answered_outside(studio: Studio) -> None:
    graph = asking(remote_of(studio, "agent"))
    thread: Any = {"configurable": {"thread_id": await studio.thread()}}
    questions = [call("ask_human", inquire=f"Which {what}?") for what in ("colour", "size")]
    studio.server.script(*questions, text("A large blue one."))
    first = await graph.ainvoke({"request": "Make it."}, thread)
    assert first["__interrupt__"][0].value == "Which colour?"
    second = await graph.ainvoke(Command(resume="blue"), thread)
    assert second["__interrupt__"][0].value == "Which size?"
    ended = await graph.ainvoke(Command(resume="large"), thread)
    assert ended["verdict"] == "It said: A large blue one."
    assert [m["content"] for m in studio.server.requests[-1].messages if m["role"] == "tool"] == [
        "blue",
        "large",
    ]
