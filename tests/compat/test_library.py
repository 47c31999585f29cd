"""Each middleware of `langchain.agents.middleware` in one of our runs."""

import threading
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    FilesystemFileSearchMiddleware,
    HostExecutionPolicy,
    HumanInTheLoopMiddleware,
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    ShellToolMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from manus.scripted import ScriptedModel, call, calls
from tests.compat.conftest import Build

HELLO = {"messages": [HumanMessage("Hello")]}
THREAD: Any = {"configurable": {"thread_id": "t"}}


@tool
def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"sunny in {city}"


@tool
def send(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


class Flaky(ScriptedModel):
    """Fails several times, like an unreliable model server."""

    failures: int = 1

    def _generate(self, *args: Any, **options: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise LookupError("no such deployment")
        return super()._generate(*args, **options)


class TestHumanInTheLoop:
    @pytest.mark.parametrize(
        ("decision", "answer"),
        [
            ({"type": "approve"}, "sent to a@b.c"),
            (
                {"type": "edit", "edited_action": {"name": "send", "args": {"to": "x@y.z"}}},
                "sent to x@y.z",
            ),
            ({"type": "reject", "message": "Not now."}, "Not now."),
            ({"type": "respond", "message": "Done by hand."}, "Done by hand."),
        ],
    )
    def test_a_decision(self, build: Build, decision: dict[str, Any], answer: str) -> None:
        agent = build(
            call("send", to="a@b.c"),
            "Well.",
            tools=[send],
            middleware=[HumanInTheLoopMiddleware(interrupt_on={"send": True})],
            checkpointer=InMemorySaver(),
        )
        waiting = agent.invoke(HELLO, THREAD)
        [request] = waiting["__interrupt__"][0].value["action_requests"]
        assert (request["name"], request["args"]) == ("send", {"to": "a@b.c"})
        assert agent.get_state(THREAD).values["stop_reason"] == "interrupted"
        result = agent.invoke(Command(resume={"decisions": [decision]}), THREAD)
        assert result["output"] == "Well."
        assert any(answer in message.text for message in result["messages"])

    def test_with_our_own_approvals(self, build: Build, own_workspace: Path) -> None:
        agent = build(
            call("bash", command="touch made"),
            "Made.",
            tools=["bash"],
            middleware=[HumanInTheLoopMiddleware(interrupt_on={"bash": True})],
            checkpointer=InMemorySaver(),
        )
        context = {"approve": "ask", "workspace": str(own_workspace)}
        agent.invoke(HELLO, THREAD, context=context)
        approval: Any = Command(resume={"decisions": [{"type": "approve"}]})
        second = agent.invoke(approval, THREAD, context=context)
        assert second["stop_reason"] == "interrupted"
        result = agent.invoke(Command(resume="yes"), THREAD, context=context)
        assert result["output"] == "Made."
        assert (own_workspace / "made").exists()


class TestSummarization:
    def test_a_long_history(self, build: Build) -> None:
        summaries = ScriptedModel()
        summaries.script(*[AIMessage("They talked about the weather.")] * 3)
        middleware = SummarizationMiddleware(
            summaries, trigger=("messages", 5), keep=("messages", 2)
        )
        replies = [call("weather", city=f"C{number}") for number in range(4)]
        agent = build(*replies, "Sunny everywhere.", tools=[weather], middleware=[middleware])
        result = agent.invoke({"messages": [HumanMessage("How is it in four cities?")]})
        assert result["output"] == "Sunny everywhere."
        assert "They talked about the weather." in result["messages"][0].text
        assert (len(result["messages"]) < 9, len(result["results"])) == (True, 5)

    def test_the_next_request_is_a_run_of_its_own(self, build: Build) -> None:
        summaries = ScriptedModel()
        summaries.script(AIMessage("They greeted."), AIMessage("They greeted twice."))
        middleware = SummarizationMiddleware(
            summaries, trigger=("messages", 3), keep=("messages", 1)
        )
        agent = build("A", "B", "C", middleware=[middleware], checkpointer=InMemorySaver())
        outputs = [agent.invoke({"request": text}, THREAD)["output"] for text in ("1", "2", "3")]
        assert outputs == ["A", "B", "C"]
        assert len(agent.get_state(THREAD).values["results"]) == 1


def test_context_editing(build: Build, model: ScriptedModel) -> None:
    edit = ClearToolUsesEdit(trigger=10, keep=1, placeholder="[cleared]")
    replies = call("weather", city="Graz"), call("weather", city="Linz"), "Sunny."
    middleware = [ContextEditingMiddleware(edits=[edit])]
    result = build(*replies, tools=[weather], middleware=middleware).invoke(HELLO)
    texts = [message.text for message in model.requests[-1]["messages"]]
    assert "[cleared]" in texts
    assert "sunny in Linz" in texts
    assert result["messages"][2].text == "sunny in Graz", "the history keeps it"


def test_the_list_of_todos(build: Build, model: ScriptedModel) -> None:
    todos = [{"content": "Look", "status": "in_progress"}, {"content": "Tell", "status": "pending"}]
    agent = build(
        call("write_todos", todos=todos),
        "Sunny.",
        tools=[weather],
        middleware=[TodoListMiddleware()],
        checkpointer=InMemorySaver(),
    )
    result = agent.invoke(HELLO, THREAD)
    assert result["todos"] == todos
    assert agent.get_state(THREAD).values["todos"] == todos
    assert "write_todos" in model.requests[0]["messages"][0].text


class TestPii:
    def test_a_redacted_request(self, build: Build, model: ScriptedModel) -> None:
        result = build("Hi.", middleware=[PIIMiddleware("email")]).invoke(
            {"messages": [HumanMessage("I am ada@example.com.")]}
        )
        assert "ada@example.com" not in str(model.requests)
        assert result["messages"][0].text == "I am [REDACTED_EMAIL]."

    def test_a_masked_tool_result(self, build: Build, model: ScriptedModel) -> None:
        middleware = PIIMiddleware("email", apply_to_tool_results=True)
        replies = call("send", to="ada@example.com"), "Sent."
        build(*replies, tools=[send], middleware=[middleware]).invoke(HELLO)
        assert "[REDACTED_EMAIL]" in model.requests[1]["messages"][-1].text

    def test_a_masked_answer(self, build: Build) -> None:
        middleware = PIIMiddleware("email", apply_to_output=True)
        result = build("Ask ada@example.com.", middleware=[middleware]).invoke(HELLO)
        assert result["output"] == "Ask [REDACTED_EMAIL]."


class TestTools:
    def test_retry(self, build: Build) -> None:
        attempts = []

        @tool
        def flaky() -> str:
            """Succeed at the third attempt."""
            attempts.append(1)
            if len(attempts) < 3:
                raise ConnectionError("gone")
            return "there"

        middleware = ToolRetryMiddleware(max_retries=3, initial_delay=0)
        result = build(call("flaky"), "There.", tools=[flaky], middleware=[middleware]).invoke(
            HELLO
        )
        assert (result["messages"][-2].text, len(attempts)) == ("there", 3)

    def test_error(self, build: Build) -> None:
        @tool
        def broken() -> str:
            """Fail."""
            raise LookupError("lost")

        middleware = ToolErrorMiddleware(lambda error, _: f"Sorry: {error}")
        agent = build(call("broken"), "Lost.", tools=[broken], middleware=[middleware])
        answer = agent.invoke(HELLO)["messages"][-2]
        assert (answer.text, answer.status) == ("Sorry: lost", "error")

    def test_limit_of_calls(self, build: Build) -> None:
        middleware = ToolCallLimitMiddleware(run_limit=1)
        replies = call("weather", city="Graz"), call("weather", city="Linz"), "Only one."
        result = build(*replies, tools=[weather], middleware=[middleware]).invoke(HELLO)
        assert result["output"] == "Only one."
        assert result["usage"]["tool_calls"] == 1

    def test_limit_of_calls_that_ends_the_run(self, build: Build) -> None:
        middleware = ToolCallLimitMiddleware(run_limit=1, exit_behavior="end")
        replies = call("weather", city="Graz"), call("weather", city="Linz"), "Never."
        result = build(*replies, tools=[weather], middleware=[middleware]).invoke(HELLO)
        assert result["status"] == "finished"
        assert "limit" in result["output"]

    def test_emulator(self, build: Build) -> None:
        emulator = ScriptedModel()
        emulator.script(AIMessage("fog"))
        middleware = LLMToolEmulator(tools=["weather"], model=emulator)
        replies = call("weather", city="Graz"), "Foggy."
        result = build(*replies, tools=[weather], middleware=[middleware]).invoke(HELLO)
        assert result["messages"][-2].text == "fog"

    def test_selector(self, build: Build, model: ScriptedModel) -> None:
        selector = ScriptedModel()
        selector.script(call("ToolSelectionResponse", tools=["weather"]))
        middleware = LLMToolSelectorMiddleware(model=selector, max_tools=1)
        build("Hi.", tools=[weather, send], middleware=[middleware]).invoke(HELLO)
        names = [schema["function"]["name"] for schema in model.requests[0]["tools"]]
        assert names == ["weather"]

    def test_file_search(self, build: Build, own_workspace: Path) -> None:
        (own_workspace / "notes.txt").write_text("the answer is 42\n")
        middleware = FilesystemFileSearchMiddleware(root_path=str(own_workspace), use_ripgrep=False)
        both = calls(
            call("glob_search", pattern="*.txt"),
            call("grep_search", pattern="answer", output_mode="content"),
        )
        result = build(both, "42.", middleware=[middleware]).invoke(HELLO)
        observations = [message.text for message in result["messages"] if message.type == "tool"]
        assert "/notes.txt" in observations[0]
        assert "the answer is 42" in observations[1]

    # LangChain does not close the pipes of its shell, which its threads read to the end
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_shell(self, build: Build, own_workspace: Path) -> None:
        middleware = ShellToolMiddleware(own_workspace, execution_policy=HostExecutionPolicy())
        replies = call("shell", command="echo a > b"), call("shell", command="cat b"), "a"
        result = build(*replies, middleware=[middleware]).invoke(HELLO)
        assert result["output"] == "a"
        assert (own_workspace / "b").read_text() == "a\n"
        for reader in [t for t in threading.enumerate() if "_enqueue_stream" in t.name]:
            reader.join()


class TestModels:
    def test_retry(self, build: Build) -> None:
        flaky = Flaky(failures=2)
        flaky.script(AIMessage("There."))
        middleware = ModelRetryMiddleware(max_retries=2, initial_delay=0)
        result = build(model=flaky, middleware=[middleware]).invoke(HELLO)
        assert result["output"] == "There."

    def test_retry_gives_up(self, build: Build) -> None:
        middleware = ModelRetryMiddleware(max_retries=1, initial_delay=0, on_failure="continue")
        result = build(model=Flaky(failures=5), middleware=[middleware]).invoke(HELLO)
        assert "no such deployment" in result["output"]

    def test_fallback(self, build: Build) -> None:
        second = ScriptedModel()
        second.script(AIMessage("From the second."))
        middleware = ModelFallbackMiddleware(second)
        result = build(model=Flaky(failures=5), middleware=[middleware]).invoke(HELLO)
        assert result["output"] == "From the second."

    def test_limit_of_calls(self, build: Build) -> None:
        middleware = ModelCallLimitMiddleware(run_limit=1)
        replies = call("weather", city="Graz"), "Never."
        result = build(*replies, tools=[weather], middleware=[middleware]).invoke(HELLO)
        assert "limit" in result["output"]
        assert result["status"] == "finished"

    def test_limit_of_calls_as_an_error(self, build: Build) -> None:
        middleware = ModelCallLimitMiddleware(run_limit=1, exit_behavior="error")
        replies = call("weather", city="Graz"), "Never."
        agent = build(*replies, tools=[weather], middleware=[middleware])
        with pytest.raises(ModelCallLimitExceededError):
            agent.invoke(HELLO)
