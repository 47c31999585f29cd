"""Agents used as in LangGraph's documentation: sync savers, `as_tool`, failures."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from manus import build_agent
from manus.scripted import ScriptedModel
from manus.threads.sqlite import SqliteStore
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import call, text

T = thread_config("t")
REQUEST = {"messages": [HumanMessage("Do it.")]}


@pytest.fixture(autouse=True)
def in_an_empty_folder(own_workspace: Path) -> None:
    """Change to an empty folder: the developer's `manus.toml` must not apply."""


@pytest.fixture
def sync_saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "threads.db", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"sunny in {city}"


def says(*replies: str | AIMessage) -> ScriptedModel:
    model = ScriptedModel()
    model.script(*(AIMessage(reply) if isinstance(reply, str) else reply for reply in replies))
    return model


CALL = AIMessage(
    "", tool_calls=[{"name": "weather", "args": {"city": "Graz"}, "id": "1", "type": "tool_call"}]
)


class TestSynchronousSaver:
    def test_invoke(self, sync_saver: SqliteSaver) -> None:
        model = says(CALL, "Sunny.", "As I said: sunny.")
        agent = build_agent(model=model, tools=[weather], checkpointer=sync_saver)
        assert agent.invoke(REQUEST, T)["output"] == "Sunny."
        assert agent.invoke(REQUEST, T)["output"] == "As I said: sunny."
        assert len(agent.get_state(T).values["messages"]) == 6
        assert len(list(agent.get_state_history(T, limit=2))) == 2
        agent.update_state(T, {"output": "Edited."})
        assert agent.get_state(T).values["output"] == "Edited."
        assert agent.checkpointer is sync_saver

    async def test_ainvoke(self, sync_saver: SqliteSaver) -> None:
        agent = build_agent(model=says("Done."), tools=[], checkpointer=sync_saver)
        assert (await agent.ainvoke(REQUEST, T))["output"] == "Done."
        assert (await agent.aget_state(T)).values["output"] == "Done."

    def test_a_question_in_a_graph_around_it(self, sync_saver: SqliteSaver) -> None:
        ask: Any = {"name": "ask_human", "args": {"inquire": "Which?"}, "id": "1"}
        model = says(AIMessage("", tool_calls=[ask]), "Blue it is.")
        outer = StateGraph(MessagesState)
        outer.add_node("agent", build_agent(model=model, tools=["ask_human"]))
        outer.add_edge(START, "agent")
        graph: Any = outer.compile(checkpointer=sync_saver)
        assert "__interrupt__" in graph.invoke(REQUEST, T)
        result = graph.invoke(Command(resume="Blue."), T)
        assert result["messages"][-1].text == "Blue it is."


class TestAsTool:
    def test_the_schema_has_the_request(self) -> None:
        tool = build_agent(model=says("42."), tools=[]).as_tool(name="expert", description="Knows.")
        schema = tool.tool_call_schema.model_json_schema()  # type: ignore[union-attr]
        assert set(schema["properties"]) == {"request", "messages"}
        assert "required" not in schema
        assert tool.invoke({"request": "What?"}) == "42."

    def test_an_agent_calls_it(self) -> None:
        expert = build_agent(model=says("42."), tools=[]).as_tool(
            name="expert", description="Knows."
        )
        ask: Any = {"name": "expert", "args": {"request": "What?"}, "id": "1"}
        model = says(AIMessage("", tool_calls=[ask]), "It is 42.")
        result = build_agent(model=model, tools=[expert]).invoke({"request": "Ask."})
        assert result["output"] == "It is 42."
        assert result["messages"][-2].text == "42."

    def test_a_question_of_the_inner_agent(self) -> None:
        ask: Any = {"name": "ask_human", "args": {"inquire": "Which color?"}, "id": "1"}
        inner = says(AIMessage("", tool_calls=[ask]), "Blue.")
        painter = build_agent(model=inner, tools=["ask_human"]).as_tool(name="painter")
        paint: Any = {"name": "painter", "args": {"request": "Paint."}, "id": "1"}
        model = says(AIMessage("", tool_calls=[paint]), "Painted blue.")
        agent = build_agent(model=model, tools=[painter], checkpointer=InMemorySaver())
        assert agent.invoke({"request": "Paint."}, T)["output"] == "Which color?"
        result = agent.invoke(Command(resume="Blue."), T)
        assert result["output"] == "Painted blue."
        assert result["messages"][-2].text == "Blue."


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("It costs $5.", "It costs $5."),
        ("$HOME and ${PATH}, $ and $$", "$HOME and ${PATH}, $ and $"),
        ("$workspace", "WORKSPACE"),
    ],
)
def test_a_dollar_in_the_system_prompt(prompt: str, expected: str) -> None:
    model = says("Yes.")
    result = build_agent(model=model, tools=[], system_prompt=prompt).invoke(REQUEST)
    assert result["output"] == "Yes."
    workspace = str(Path("workspace").resolve())
    assert model.requests[0]["messages"][0].text.replace(workspace, "WORKSPACE") == expected


class FailingStore(SqliteStore):
    """A store whose disk is full at its fourth checkpoint."""

    puts = 0

    async def aput(self, *args: Any) -> Any:
        self.puts += 1
        if self.puts == 4:
            raise OSError("No space left on device")
        return await super().aput(*args)


async def test_a_failed_node_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    store = FailingStore(tmp_path / "s")
    agent = build_agent(model=says(CALL, "Sunny."), tools=[weather], checkpointer=store)
    try:
        with pytest.raises(OSError, match="No space left"):
            await agent.ainvoke(REQUEST, T)
        values = (await agent.aget_state(T)).values
        assert (values["status"], values["stop_reason"], values["success"]) == (
            "error",
            "error",
            False,
        )
        assert "No space left on device" in values["output"]
        assert (await agent.ainvoke(None, T))["output"] == "Sunny."
        values = (await agent.aget_state(T)).values
        assert (values["status"], values["stop_reason"]) == ("finished", "answered")
    finally:
        store.close()


async def test_a_waiting_thread_says_so(agent: ScriptedAgent) -> None:
    agent.server.script(call("ask_human", inquire="Which?"))
    await agent.graph.ainvoke({"request": "Paint."}, T, context=agent.context())
    values = await agent.values()
    assert (values["status"], values["stop_reason"]) == ("idle", "interrupted")
    assert values["output"] == "Which?"
    outcome = await agent.invoke(Command(resume="Blue."), text("Blue."))
    assert (outcome.status, outcome.stop_reason) == ("finished", "answered")
