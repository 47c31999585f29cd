"""The hooks of middleware: order, state, jumps, both forms."""

from pathlib import Path
from typing import Any, NotRequired

import pytest
from langchain.agents import AgentState
from langchain.agents.middleware import (
    AgentMiddleware,
    TracePolicy,
    after_agent,
    after_model,
    before_agent,
    before_model,
    hook_config,
    omit_payload,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.tracers import BaseTracer
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolRuntime

from manus import build_agent
from manus.graph.middleware.wiring import route_after_model, route_jump, route_reply
from manus.graph.routing import Router
from manus.scripted import ScriptedModel, call
from manus.state.errors import UsageError
from tests.compat.conftest import Build

HELLO = {"messages": [HumanMessage("Hello")]}


@tool
def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"sunny in {city}"


class Log(AgentMiddleware[Any, Any, Any]):
    """Records the hooks that are called."""

    def __init__(self, label: str, calls: list[str]) -> None:
        super().__init__()
        self.label = label
        self.calls = calls

    @property
    def name(self) -> str:
        return self.label

    def before_agent(self, state: Any, runtime: Any) -> None:
        self.calls.append(f"{self.label}.before_agent")

    def before_model(self, state: Any, runtime: Any) -> None:
        self.calls.append(f"{self.label}.before_model")

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        self.calls.append(f"{self.label}.abefore_model")

    def after_model(self, state: Any, runtime: Any) -> None:
        self.calls.append(f"{self.label}.after_model")

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        self.calls.append(f"{self.label}.aafter_agent")


def test_the_order_of_the_hooks(build: Build) -> None:
    calls: list[str] = []
    middleware = [Log("A", calls), Log("B", calls)]
    replies = call("weather", city="Graz"), "Sunny."
    agent = build(*replies, tools=[weather], middleware=middleware)
    assert agent.invoke(HELLO)["output"] == "Sunny."
    step = ["A.before_model", "B.before_model", "B.after_model", "A.after_model"]
    first = ["A.before_agent", "B.before_agent"]
    assert calls == [*first, *step, *step, "B.aafter_agent", "A.aafter_agent"]


async def test_the_asynchronous_form_in_a_loop(build: Build) -> None:
    calls: list[str] = []
    await build("Hi.", middleware=[Log("A", calls)]).ainvoke(HELLO)
    assert "A.abefore_model" in calls
    assert "A.before_model" not in calls


def test_a_drawing_without_hooks_is_unchanged(build: Build) -> None:
    assert set(build().get_graph().nodes) == {
        "__start__",
        "think",
        "act",
        "stuck_check",
        "__end__",
    }


def test_a_drawing_with_hooks(build: Build) -> None:
    drawing = build(middleware=[Log("A", [])]).get_graph()
    edges = {(edge.source, edge.target) for edge in drawing.edges}
    assert {
        ("__start__", "A.before_agent"),
        ("A.before_agent", "A.before_model"),
        ("A.before_model", "think"),
        ("think", "A.after_model"),
        ("A.after_model", "act"),
        ("A.after_model", "stuck_check"),
        ("act", "stuck_check"),
        ("stuck_check", "A.before_model"),
        ("stuck_check", "A.aafter_agent".replace("aafter", "after")),
        ("A.after_agent", "__end__"),
    } <= edges


class TestState:
    def test_a_hook_counts_in_its_own_channel(self, build: Build) -> None:
        class Counted(AgentState[Any]):
            count: NotRequired[int]

        class Counter(AgentMiddleware[Counted, Any, Any]):
            state_schema = Counted

            def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
                return {"count": state.get("count", 0) + 1}

        replies = call("weather", city="Graz"), "Sunny."
        agent = build(*replies, tools=[weather], middleware=[Counter()])
        assert agent.invoke({**HELLO, "count": 5})["count"] == 7

    def test_a_tool_reads_what_a_hook_wrote(self, build: Build) -> None:
        class Named(AgentState[Any]):
            user: NotRequired[str]

        @before_agent(state_schema=Named)
        def identify(state: Any, runtime: Any) -> dict[str, Any]:
            return {"user": "Ada"}

        @tool
        def whoami(runtime: ToolRuntime[Any, Any]) -> str:
            """Return the user."""
            return str(runtime.state["user"])

        agent = build(call("whoami"), "Ada.", tools=[whoami], middleware=[identify])
        assert agent.invoke(HELLO)["messages"][-2].text == "Ada"

    def test_a_message_of_a_hook_starts_no_other_run(self, build: Build) -> None:
        @before_model
        def remind(state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [HumanMessage("Remember the units.")]}

        replies = call("weather", city="Graz"), "Sunny."
        agent = build(*replies, tools=[weather], middleware=[remind])
        result = agent.invoke(HELLO)
        assert [m.type for m in result["messages"]] == [
            "human",
            "human",
            "ai",
            "tool",
            "human",
            "ai",
        ]
        assert len(result["results"]) == 2

    def test_a_hook_provides_the_request(self, build: Build) -> None:
        @before_agent
        def ask(state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [HumanMessage("What is new?")]}

        result = build("Nothing.", middleware=[ask]).invoke({"messages": []})
        assert result["output"] == "Nothing."


class TestJumps:
    def test_to_the_end_before_the_first_step(self, build: Build, model: ScriptedModel) -> None:
        @before_agent(can_jump_to=["end"])
        def block(state: Any, runtime: Any) -> dict[str, Any]:
            return {"jump_to": "end", "messages": [AIMessage("Not today.")]}

        result = build("Hi.", middleware=[block]).invoke(HELLO)
        assert (result["status"], result["output"]) == ("finished", "Not today.")
        assert model.requests == []

    def test_a_second_run_on_the_thread_has_its_own_result(self, build: Build) -> None:
        @before_agent(can_jump_to=["end"])
        def block(state: Any, runtime: Any) -> dict[str, Any] | None:
            if "secret" not in state["messages"][-1].text:
                return None
            return {"jump_to": "end", "messages": [AIMessage("Not that.")]}

        agent = build("Hi.", middleware=[block], checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": "t"}}
        assert agent.invoke(HELLO, thread)["output"] == "Hi."
        result = agent.invoke({"messages": [HumanMessage("the secret")]}, thread)
        assert result["output"] == "Not that."
        assert result["usage"]["model_calls"] == 0

    def test_from_after_the_model_back_to_it(self, build: Build) -> None:
        @after_model(can_jump_to=["model"])
        def insist(state: Any, runtime: Any) -> dict[str, Any] | None:
            if "please" in state["messages"][-1].text:
                return None
            return {"jump_to": "model", "messages": [HumanMessage("More politely.")]}

        result = build("No.", "No, please.", middleware=[insist]).invoke(HELLO)
        assert result["output"] == "No, please."

    def test_to_the_tools(self, build: Build, model: ScriptedModel) -> None:
        @before_model(can_jump_to=["tools"])
        def look_first(state: Any, runtime: Any) -> dict[str, Any] | None:
            if any(isinstance(message, ToolMessage) for message in state["messages"]):
                return None
            return {"jump_to": "tools", "messages": [call("weather", city="Graz")]}

        result = build("Sunny.", tools=[weather], middleware=[look_first]).invoke(HELLO)
        assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai"]
        assert len(model.requests) == 1

    def test_after_the_agent_to_the_model(self, build: Build) -> None:
        @after_agent(can_jump_to=["model"])
        def review(state: Any, runtime: Any) -> dict[str, Any] | None:
            if state["messages"][-1].text == "Better.":
                return None
            return {"jump_to": "model", "messages": [HumanMessage("Again.")]}

        result = build("Bad.", "Better.", middleware=[review]).invoke(HELLO)
        assert (result["output"], result["stop_reason"]) == ("Better.", "answered")

    def test_an_undeclared_jump_is_ignored(self, build: Build) -> None:
        class Undeclared(AgentMiddleware[Any, Any, Any]):
            @hook_config(can_jump_to=[])
            def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
                return {"jump_to": "end"}

        result = build("Hi.", middleware=[Undeclared()]).invoke(HELLO)
        assert result["output"] == "Hi."
        assert "jump_to" not in result

    def test_no_jump_passes_the_step_limit(self, build: Build, own_workspace: Path) -> None:
        @after_agent(can_jump_to=["model"])
        def again(state: Any, runtime: Any) -> dict[str, Any]:
            return {"jump_to": "model", "messages": [HumanMessage("Again.")]}

        agent = build("1", "2", "3", "4", middleware=[again])
        result = agent.invoke(HELLO, context={"max_steps": 3})
        assert (result["output"], result["usage"]["model_calls"]) == ("3", 3)


def test_a_policy_keeps_the_state_out_of_traces(build: Build) -> None:
    class Private(AgentMiddleware[Any, Any, Any]):
        trace_policy = TracePolicy(process_inputs=omit_payload)

        def before_model(self, state: Any, runtime: Any) -> None:
            return None

    class Recorder(BaseTracer):
        def __init__(self) -> None:
            super().__init__()
            self.inputs: dict[str, Any] = {}

        def _persist_run(self, run: Any) -> None:
            pass

        def _on_chain_start(self, run: Any) -> None:
            self.inputs.setdefault(run.name, run.inputs)

    recorder = Recorder()
    build("Hi.", middleware=[Private()]).invoke(HELLO, {"callbacks": [recorder]})
    assert recorder.inputs["Private.before_model"] == {}


def test_two_with_the_same_name_are_rejected() -> None:
    with pytest.raises(UsageError, match="same name"):
        build_agent(tools=[], middleware=[Log("A", []), Log("A", [])])


@pytest.mark.parametrize(
    ("route", "state", "label"),
    [
        (route_reply, {}, "reply"),
        (route_reply, {"stop_reason": "budget"}, "failed"),
        (lambda s: route_jump(s, allowed=["end"], to_tools=lambda _: []), {}, "next"),
        (lambda s: route_jump(s, allowed=[], to_tools=lambda _: []), {"jump_to": "end"}, "next"),
        (
            lambda s: route_jump(s, allowed=["end"], to_tools=lambda _: []),
            {"jump_to": "end"},
            "end",
        ),
        (
            lambda s: route_jump(s, allowed=["tools"], to_tools=lambda _: "no_call"),
            {"jump_to": "tools"},
            "next",
        ),
        (
            lambda s: route_after_model(s, allowed=["model"], to_tools=lambda _: "no_call"),
            {"jump_to": "model"},
            "model",
        ),
        (
            lambda s: route_after_model(s, allowed=[], to_tools=lambda _: "no_call"),
            {"jump_to": "end"},
            "no_call",
        ),
    ],
)
def test_the_routers(route: Any, state: dict[str, Any], label: str) -> None:
    assert Router(route, "router").invoke(state) == label
