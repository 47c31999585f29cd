"""`response_format`: kinds of schemas, strategies, mistakes of the model."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents.structured_output import (
    MultipleStructuredOutputsError,
    ProviderStrategy,
    StructuredOutputValidationError,
    ToolStrategy,
)
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from typing_extensions import TypedDict

from manus.config.context import Context
from manus.graph.middleware.structured_output import supports_provider_strategy
from manus.scripted import ScriptedModel, call, calls
from tests import server as servers
from tests.compat.conftest import Build

HELLO = {"messages": [HumanMessage("How is it?")]}


class Weather(BaseModel):
    """The weather."""

    city: str
    degrees: int


@dataclass
class WeatherRecord:
    """The weather."""

    city: str
    degrees: int


class WeatherDict(TypedDict):
    """The weather."""

    city: str
    degrees: int


SCHEMA = {
    "title": "weather_object",
    "description": "The weather.",
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
}
VALUES = {"city": "Graz", "degrees": 21}


@tool
def measure(city: str) -> str:
    """Measure the temperature."""
    return "21"


@pytest.mark.parametrize(
    ("schema", "name", "response"),
    [
        (Weather, "Weather", Weather(city="Graz", degrees=21)),
        (WeatherRecord, "WeatherRecord", WeatherRecord(city="Graz", degrees=21)),
        (WeatherDict, "WeatherDict", VALUES),
        (SCHEMA, "weather_object", VALUES),
        (ToolStrategy(Weather), "Weather", Weather(city="Graz", degrees=21)),
    ],
)
def test_a_schema(build: Build, schema: Any, name: str, response: Any) -> None:
    agent = build(call(name, **VALUES), response_format=schema)
    result = agent.invoke(HELLO)
    assert result["structured_response"] == response
    assert (result["status"], result["stop_reason"]) == ("finished", "answered")
    assert json.loads(result["output"]) == VALUES
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]


@pytest.mark.parametrize("schema", [Weather, SCHEMA])
def test_the_providers_own(build: Build, schema: Any) -> None:
    agent = build(json.dumps(VALUES), response_format=ProviderStrategy(schema))
    result = agent.invoke(HELLO)
    assert result["structured_response"] in (VALUES, Weather(city="Graz", degrees=21))
    assert [message.type for message in result["messages"]] == ["human", "ai"]


@pytest.mark.parametrize("is_own_client", [True, False])
def test_a_strict_schema_is_sent_as_openai_requires(
    build: Build, server: servers.ScriptedServer, is_own_client: bool
) -> None:
    server.script(servers.text(json.dumps(VALUES)))
    keywords: Any = {"model": "gpt-5", "base_url": server.base_url, "api_key": "none"}
    model = "gpt-5" if is_own_client else ChatOpenAI(**keywords)
    strategy: ProviderStrategy[Any] = ProviderStrategy(SCHEMA, strict=True)
    agent = build(model=model, response_format=strategy)
    agent.invoke(HELLO, context=Context(base_url=server.base_url))
    schema = server.requests[0].body["response_format"]["json_schema"]
    assert (schema["name"], schema["strict"]) == ("weather_object", True)
    assert schema["schema"]["additionalProperties"] is False
    assert "additionalProperties" not in SCHEMA


def test_after_other_tools(build: Build) -> None:
    replies = call("measure", city="Graz"), call("Weather", **VALUES)
    result = build(*replies, tools=[measure], response_format=Weather).invoke(HELLO)
    assert result["structured_response"].degrees == 21
    assert len(result["results"]) == 2


def test_beside_another_tool(build: Build) -> None:
    reply = calls(call("measure", city="Graz"), call("Weather", **VALUES))
    result = build(reply, tools=[measure], response_format=Weather).invoke(HELLO)
    assert result["structured_response"].degrees == 21
    assert [m.name for m in result["messages"] if m.type == "tool"] == ["Weather", "measure"]


def test_a_union(build: Build) -> None:
    class Refusal(BaseModel):
        """Say why there is no answer."""

        reason: str

    agent = build(call("Refusal", reason="No."), response_format=ToolStrategy(Weather | Refusal))
    assert agent.invoke(HELLO)["structured_response"] == Refusal(reason="No.")


class TestMistakes:
    def test_the_model_is_told(self, build: Build, model: ScriptedModel) -> None:
        replies = call("Weather", city="Graz"), call("Weather", **VALUES)
        result = build(*replies, response_format=ToolStrategy(Weather)).invoke(HELLO)
        assert result["structured_response"].degrees == 21
        assert "degrees" in model.requests[1]["messages"][-1].text

    def test_in_the_callers_words(self, build: Build, model: ScriptedModel) -> None:
        strategy = ToolStrategy(Weather, handle_errors="Give both fields.")
        replies = call("Weather", city="Graz"), call("Weather", **VALUES)
        build(*replies, response_format=strategy).invoke(HELLO)
        assert model.requests[1]["messages"][-1].text == "Give both fields."

    def test_by_a_function(self, build: Build, model: ScriptedModel) -> None:
        strategy = ToolStrategy(Weather, handle_errors=lambda error: type(error).__name__)
        replies = call("Weather", city="Graz"), call("Weather", **VALUES)
        build(*replies, response_format=strategy).invoke(HELLO)
        assert model.requests[1]["messages"][-1].text == "StructuredOutputValidationError"

    def test_two_at_once(self, build: Build, model: ScriptedModel) -> None:
        two = calls(call("Weather", **VALUES), call("Weather", **VALUES))
        result = build(two, call("Weather", **VALUES), response_format=Weather).invoke(HELLO)
        assert result["structured_response"].degrees == 21
        assert "Weather" in model.requests[1]["messages"][-1].text

    @pytest.mark.parametrize(
        ("reply", "error"),
        [
            (call("Weather", city="Graz"), StructuredOutputValidationError),
            (
                calls(call("Weather", **VALUES), call("Weather", **VALUES)),
                MultipleStructuredOutputsError,
            ),
        ],
    )
    def test_nobody_handles_them(self, build: Build, reply: Any, error: type[Exception]) -> None:
        agent = build(reply, response_format=ToolStrategy(Weather, handle_errors=False))
        with pytest.raises(error):
            agent.invoke(HELLO)

    def test_only_others_are_handled(self, build: Build) -> None:
        strategy = ToolStrategy(Weather, handle_errors=(KeyError,))
        agent = build(call("Weather", city="Graz"), response_format=strategy)
        with pytest.raises(StructuredOutputValidationError):
            agent.invoke(HELLO)

    def test_the_provider_makes_one(self, build: Build) -> None:
        agent = build("Warm.", response_format=ProviderStrategy(Weather))
        with pytest.raises(StructuredOutputValidationError):
            agent.invoke(HELLO)


def test_tools_beside_the_output_of_an_openai_model(
    build: Build, server: servers.ScriptedServer
) -> None:
    """OpenAI's SDK refuses to parse the output if a tool is not strict."""
    server.script(servers.call("measure", city="Graz"), servers.text(json.dumps(VALUES)))
    keywords: Any = {"model": "gpt-5", "base_url": server.base_url, "api_key": "none"}
    model = ChatOpenAI(**keywords)
    result = build(model=model, tools=[measure], response_format=Weather).invoke(HELLO)
    assert result["structured_response"] == Weather(city="Graz", degrees=21)


def test_a_text_has_no_structured_response(build: Build) -> None:
    replies = call("Weather", **VALUES), "You are welcome."
    keywords = {"response_format": Weather, "checkpointer": InMemorySaver(), "tools": [measure]}
    agent = build(*replies, **keywords)
    thread: Any = {"configurable": {"thread_id": "t"}}
    assert agent.invoke(HELLO, thread)["structured_response"] is not None
    result = agent.invoke({"request": "Thank you."}, thread)
    assert result["structured_response"] is None
    assert result["output"] == "You are welcome."


def test_the_prompt_and_the_message_of_the_tool(build: Build) -> None:
    strategy = ToolStrategy(Weather, tool_message_content="Noted.")
    result = build(call("Weather", **VALUES), response_format=strategy).invoke(HELLO)
    assert result["messages"][-2].text == "Noted."


@pytest.mark.parametrize(("name", "is_supported"), [("openai:gpt-5", True), ("local", False)])
def test_whether_a_provider_has_its_own(name: str, is_supported: bool) -> None:
    """Uses LangChain's own private function and its list of names."""
    assert supports_provider_strategy(name, []) is is_supported
