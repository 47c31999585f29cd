"""The agent and the flow on a server, as nodes of a graph in another process: `RemoteGraph`."""

from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.pregel.remote import RemoteGraph
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
