"""`wrap_model_call` and `wrap_tool_call` around our model calls and tool calls."""

from pathlib import Path
from typing import Any, NotRequired

import pytest
from langchain.agents import AgentState
from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelResponse,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from manus.scripted import ScriptedModel, call
from tests.compat.conftest import Build

HELLO = {"messages": [HumanMessage("Hello")]}
THREAD: Any = {"configurable": {"thread_id": "t"}}


@tool
def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"sunny in {city}"


class TestModelCalls:
    def test_another_prompt(self, build: Build, model: ScriptedModel) -> None:
        @dynamic_prompt
        def polite(request: Any) -> str:
            return f"{request.system_prompt} Be polite."

        build("Hi.", middleware=[polite]).invoke(HELLO)
        assert model.requests[0]["messages"][0].text == "Be brief. Be polite."

    def test_another_model(self, build: Build) -> None:
        other = ScriptedModel()
        other.script(AIMessage("From the other."))

        @wrap_model_call
        def change(request: Any, handler: Any) -> Any:
            return handler(request.override(model=other))

        result = build(middleware=[change]).invoke(HELLO)
        assert result["output"] == "From the other."
        assert result["usage"]["model_calls"] == 1

    def test_fewer_tools(self, build: Build, model: ScriptedModel) -> None:
        @wrap_model_call
        def none(request: Any, handler: Any) -> Any:
            return handler(request.override(tools=[]))

        build("Hi.", tools=[weather], middleware=[none]).invoke(HELLO)
        assert not model.requests[0]["tools"]

    def test_an_answer_without_a_model(self, build: Build, model: ScriptedModel) -> None:
        @wrap_model_call
        def cached(request: Any, handler: Any) -> AIMessage:
            return AIMessage("From the cache.")

        result = build(middleware=[cached]).invoke(HELLO)
        assert result["output"] == "From the cache."
        assert (model.requests, result["usage"]["model_calls"]) == ([], 0)

    async def test_the_first_is_the_outermost(self, build: Build) -> None:
        calls = []

        class Layer(AgentMiddleware[Any, Any, Any]):
            def __init__(self, label: str) -> None:
                super().__init__()
                self.label = label

            @property
            def name(self) -> str:
                return self.label

            async def awrap_model_call(self, request: Any, handler: Any) -> Any:
                calls.append(f"{self.label} in")
                response = await handler(request)
                calls.append(f"{self.label} out")
                return response

        await build("Hi.", middleware=[Layer("A"), Layer("B")]).ainvoke(HELLO)
        assert calls == ["A in", "B in", "B out", "A out"]

    def test_a_failed_call_is_repeated_and_seen_as_it_was_raised(self, build: Build) -> None:
        errors = []

        @wrap_model_call
        def retry(request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            except LookupError as error:
                errors.append(str(error))
                return handler(request)

        class Flaky(ScriptedModel):
            def _generate(self, *args: Any, **options: Any) -> Any:
                if not errors:
                    raise LookupError("lost")
                return super()._generate(*args, **options)

        flaky = Flaky()
        flaky.script(AIMessage("Found."))
        result = build(middleware=[retry], model=flaky).invoke(HELLO)
        assert (result["output"], errors) == ("Found.", ["lost"])

    def test_an_error_that_nobody_handles_ends_the_run_in_words(self, build: Build) -> None:
        @wrap_model_call
        def nothing(request: Any, handler: Any) -> Any:
            return handler(request)

        class Broken(ScriptedModel):
            def _generate(self, *args: Any, **options: Any) -> Any:
                raise LookupError("lost")

        result = build(middleware=[nothing], model=Broken()).invoke(HELLO)
        assert (result["status"], result["stop_reason"]) == ("error", "error")
        assert "lost" in result["output"]

    def test_a_command_changes_the_state(self, build: Build) -> None:
        class Noted(AgentState[Any]):
            note: NotRequired[str]

        class Note(AgentMiddleware[Noted, Any, Any]):
            state_schema = Noted

            def wrap_model_call(self, request: Any, handler: Any) -> Any:
                response = handler(request)
                return ExtendedModelResponse(response, Command(update={"note": "asked"}))

        assert build("Hi.", middleware=[Note()]).invoke(HELLO)["note"] == "asked"

    def test_a_command_to_go_elsewhere_is_refused(self, build: Build) -> None:
        @wrap_model_call
        def leave(request: Any, handler: Any) -> Any:
            return ExtendedModelResponse(ModelResponse([AIMessage("x")]), Command(goto="act"))

        with pytest.raises(NotImplementedError, match="goto"):
            build("Hi.", middleware=[leave]).invoke(HELLO)

    def test_a_tool_that_nothing_executes_is_refused(self, build: Build) -> None:
        @wrap_model_call
        def add(request: Any, handler: Any) -> Any:
            return handler(request.override(tools=[*request.tools, weather]))

        with pytest.raises(ValueError, match="Unknown tools: \\['weather'\\]"):
            build("Hi.", middleware=[add]).invoke(HELLO)


class TestToolCalls:
    def test_a_changed_argument(self, build: Build) -> None:
        @wrap_tool_call
        def translate(request: Any, handler: Any) -> Any:
            changed = {**request.tool_call, "args": {"city": "Vienna"}}
            return handler(request.override(tool_call=changed))

        replies = call("weather", city="Wien"), "Sunny."
        result = build(*replies, tools=[weather], middleware=[translate]).invoke(HELLO)
        assert result["messages"][-2].text == "sunny in Vienna"

    def test_an_answer_without_the_tool(self, build: Build) -> None:
        @wrap_tool_call
        def invent(request: Any, handler: Any) -> ToolMessage:
            return ToolMessage("snow", tool_call_id=request.tool_call["id"])

        replies = call("weather", city="Wien"), "Snow."
        result = build(*replies, tools=[weather], middleware=[invent]).invoke(HELLO)
        assert result["messages"][-2].text == "snow"
        assert result["usage"]["tool_calls"] == 0

    def test_a_tool_that_only_the_middleware_has(self, build: Build) -> None:
        class Dynamic(AgentMiddleware[Any, Any, Any]):
            def wrap_model_call(self, request: Any, handler: Any) -> Any:
                return handler(request.override(tools=[*request.tools, weather]))

            def wrap_tool_call(self, request: Any, handler: Any) -> Any:
                return handler(request.override(tool=weather))

        replies = call("weather", city="Wien"), "Sunny."
        result = build(*replies, middleware=[Dynamic()]).invoke(HELLO)
        assert result["messages"][-2].text == "sunny in Wien"

    def test_the_middlewares_own_tool(self, build: Build) -> None:
        class Weather(AgentMiddleware[Any, Any, Any]):
            tools = (weather,)

        replies = call("weather", city="Wien"), "Sunny."
        result = build(*replies, middleware=[Weather()]).invoke(HELLO)
        assert result["messages"][-2].text == "sunny in Wien"

    def test_a_command_of_a_tool_passes(self, build: Build) -> None:
        class Liked(AgentState[Any]):
            color: NotRequired[str]

        @tool
        def like(color: str) -> Command[Any]:
            """Remember a color."""
            message = ToolMessage("noted", tool_call_id="1")
            return Command(update={"color": color, "messages": [message]})

        @wrap_tool_call(state_schema=Liked)
        def watch(request: Any, handler: Any) -> Any:
            return handler(request)

        ask: Any = {"name": "like", "args": {"color": "blue"}, "id": "1"}
        replies = AIMessage("", tool_calls=[ask]), "Noted."
        result = build(*replies, tools=[like], middleware=[watch]).invoke(HELLO)
        assert result["color"] == "blue"

    def test_an_error_of_the_middleware_is_raised(self, build: Build) -> None:
        @wrap_tool_call
        def broken(request: Any, handler: Any) -> Any:
            raise ZeroDivisionError("in the middleware")

        agent = build(call("weather", city="Wien"), tools=[weather], middleware=[broken])
        with pytest.raises(ZeroDivisionError):
            agent.invoke(HELLO)

    def test_an_error_of_the_tool_goes_to_the_model(self, build: Build) -> None:
        @tool
        def broken() -> str:
            """Fail."""
            raise LookupError("lost")

        @wrap_tool_call
        def watch(request: Any, handler: Any) -> Any:
            return handler(request)

        agent = build(call("broken"), "It failed.", tools=[broken], middleware=[watch])
        result = agent.invoke(HELLO)
        assert result["messages"][-2].status == "error"
        assert result["output"] == "It failed."


class TestEffects:
    """Journal and approvals apply to each attempt of a wrapped call."""

    def test_a_wrapped_tool_is_approved(self, build: Build, own_workspace: Path) -> None:
        @wrap_tool_call
        def watch(request: Any, handler: Any) -> Any:
            return handler(request)

        replies = call("bash", command="touch made"), "Done."
        keywords = {"tools": ["bash"], "middleware": [watch], "checkpointer": InMemorySaver()}
        agent = build(*replies, **keywords)
        context = {"workspace": str(own_workspace), "approve": "ask"}
        waiting = agent.invoke(HELLO, THREAD, context=context)
        assert waiting["stop_reason"] == "interrupted"
        assert not (own_workspace / "made").exists()
        result = agent.invoke(Command(resume="yes"), THREAD, context=context)
        assert result["output"] == "Done."
        assert (own_workspace / "made").exists()

    async def test_an_attempt_that_succeeded_is_not_repeated(
        self, build: Build, own_workspace: Path
    ) -> None:
        effects = own_workspace / "effects"
        crashes = [RuntimeError("the worker is lost")]

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            with effects.open("a") as file:
                file.write(f"{amount}\n")
            lines = effects.read_text().splitlines()
            if len(lines) == 1:
                raise ConnectionError("no answer")
            return f"paid at attempt {len(lines)}"

        class RetryThenCrash(AgentMiddleware[Any, Any, Any]):
            async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
                try:
                    answer = await handler(request)
                except ConnectionError:
                    answer = await handler(request)
                if crashes:
                    raise crashes.pop()
                return answer

        agent = build(
            call("pay", amount=5),
            "Paid.",
            tools=[pay],
            middleware=[RetryThenCrash()],
            checkpointer=InMemorySaver(),
        )
        with pytest.raises(RuntimeError):
            await agent.ainvoke(HELLO, THREAD)
        result = await agent.ainvoke(None, THREAD)
        assert effects.read_text().splitlines() == ["5", "5"]
        assert result["messages"][-2].text == "paid at attempt 2"


def test_the_system_message_as_it_is(build: Build, model: ScriptedModel) -> None:
    block = {"type": "text", "text": "Costs $5.", "cache_control": {"type": "ephemeral"}}
    message = SystemMessage([block])
    assert build("Hi.", system_prompt=message).invoke(HELLO)["output"] == "Hi."
    assert model.requests[0]["messages"][0].content == [block]
