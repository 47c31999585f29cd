"""The keywords of `create_agent` besides middleware and response format."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from typing_extensions import TypedDict

from manus import build_agent
from manus.scripted import ScriptedModel, call
from tests.compat.conftest import Build

HELLO = {"messages": [HumanMessage("Hello")]}
THREAD: Any = {"configurable": {"thread_id": "t"}}


@tool
def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"sunny in {city}"


def test_model_and_tools_come_first(model: ScriptedModel) -> None:
    model.script(call("weather", city="Graz"), AIMessage("Sunny."))
    assert build_agent(model, [weather]).invoke(HELLO)["output"] == "Sunny."


def test_the_name(build: Build) -> None:
    agent = build("Hi.", name="greeter")
    parts = [*agent.stream(HELLO, stream_mode="messages")]
    assert {metadata["lc_agent_name"] for _, metadata in parts} == {"greeter"}
    assert agent.name == "greeter"
    assert build("Hi.", name="greeter").invoke(HELLO)["messages"][-1].name == "greeter"
    assert build("Hi.").invoke(HELLO)["messages"][-1].name is None


class TestStateSchema:
    class Shopping(TypedDict, total=False):
        budget: int
        basket: Annotated[list[str], lambda old, new: [*old, *new]]
        secret: Annotated[str, PrivateStateAttr]

    def test_tools_read_and_write_it(self, build: Build) -> None:
        @tool
        def buy(item: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
            """Buy something."""
            message = ToolMessage("bought", tool_call_id=runtime.tool_call_id)
            rest = runtime.state["budget"] - 3
            return Command(update={"budget": rest, "basket": [item], "messages": [message]})

        replies = call("buy", item="tea"), call("buy", item="milk"), "Done."
        agent = build(*replies, tools=[buy], state_schema=self.Shopping)
        result = agent.invoke({**HELLO, "budget": 10, "basket": []})
        assert (result["budget"], result["basket"]) == (4, ["tea", "milk"])

    def test_newer_langgraph_shows_them_to_tools(self, build: Build) -> None:
        """From 1.2.24 on, LangGraph gives a tool only the input keys of the tool's node."""
        agent = build("Hi.", state_schema=self.Shopping)
        assert {"budget", "basket", "secret"} <= {*agent.nodes["act"].channels}

    def test_private_keys_stay_inside(self, build: Build) -> None:
        agent = build("Hi.", state_schema=self.Shopping, checkpointer=InMemorySaver())
        assert "secret" in agent.channels
        assert "secret" not in agent.get_output_jsonschema()["properties"]
        assert "secret" not in agent.get_input_jsonschema()["properties"]


@pytest.mark.parametrize(
    ("keywords", "node"),
    [
        ({"interrupt_before": ["tools"]}, "act"),
        ({"interrupt_before": ["act"]}, "act"),
        ({"interrupt_after": ["stuck_check"]}, "think"),
    ],
)
def test_breakpoints(build: Build, keywords: dict[str, Any], node: str) -> None:
    replies = call("weather", city="Graz"), "Sunny."
    agent = build(*replies, tools=[weather], checkpointer=InMemorySaver(), **keywords)
    agent.invoke(HELLO, THREAD)
    assert agent.get_state(THREAD).next == (node,)
    assert agent.invoke(None, THREAD)["output"] == "Sunny."


def test_a_tool_of_the_provider(build: Build, model: ScriptedModel) -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    build("Hi.", tools=[weather, search]).invoke(HELLO)
    assert model.requests[0]["tools"][-1] == search


def test_store_cache_and_debug(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    @tool
    def remember_it(runtime: ToolRuntime[Any, Any]) -> str:
        """Remember."""
        assert runtime.store is not None
        runtime.store.put(("notes",), "a", {"text": "b"})
        return "done"

    store = InMemoryStore()
    agent = build(
        call("remember_it"),
        "Done.",
        tools=[remember_it],
        store=store,
        cache=InMemoryCache(),
        debug=True,
    )
    assert agent.invoke(HELLO)["output"] == "Done."
    assert store.get(("notes",), "a") is not None
    assert "think" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
class TestProjections:
    def test_the_tool_calls(self, build: Build) -> None:
        run = build(call("weather", city="Graz"), "Sunny.", tools=[weather]).stream_events(
            HELLO, version="v3"
        )
        tool_calls = [(each.tool_name, each.input) for each in run.tool_calls]
        assert tool_calls == [("weather", {"city": "Graz"})]
        assert (run.output or {})["output"] == "Sunny."

    def test_a_named_agent_in_a_tool(self, build: Build) -> None:
        expert = ScriptedModel()
        expert.script(AIMessage("42."))
        inner = build_agent(expert, [], name="expert", system_prompt="")

        @tool
        def ask(question: str) -> str:
            """Ask the expert."""
            return str(inner.invoke({"request": question})["output"])

        outer = build(call("ask", question="Why?"), "42.", tools=[ask], name="boss")
        run = outer.stream_events(HELLO, version="v3")
        assert [each.name for each in run.subagents] == ["expert"]

    def test_the_callers_own(self, build: Build) -> None:
        from langgraph.stream import UpdatesTransformer

        agent = build("Hi.", transformers=[UpdatesTransformer])
        run = agent.stream_events(HELLO, version="v3")
        assert [next(iter(update)) for update in run.updates] == ["think", "stuck_check"]


WITHOUT = """
import sys
sys.modules["langchain"] = None
from manus import build_agent
from manus.state.errors import SettingsError
build_agent(tools=[])
try:
    build_agent(tools=[], response_format={"type": "object"})
except SettingsError as error:
    print(error)
"""


def test_without_langchain(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT]
    process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "install `manus[langchain]`" in process.stdout


def test_langchain_is_imported_only_for_middleware(tmp_path: Path) -> None:
    program = "import sys; from manus import build_agent; build_agent(tools=[]); "
    program += "print('langchain' in sys.modules)"
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert process.stdout.strip() == "False"
