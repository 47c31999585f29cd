"""A profile's tools: look up, add, execute, describe; and the tool built from a response type."""

import asyncio
import json
import logging
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, Field, RootModel

from manus.calls.catalog import BUILT_IN, Catalog, build_catalog
from manus.calls.session import Session
from manus.tools.create_chat_completion import CreateChatCompletion


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def test_tool_names_are_unique_and_case_insensitive(caplog: pytest.LogCaptureFixture) -> None:
    @tool("ADD")
    def other(text: str) -> str:
        """Do something else."""
        return text

    @tool
    async def greet(name: str = "you") -> str:
        """Greet somebody."""
        return f"hello {name}"

    catalog = Catalog([add, greet])
    with caplog.at_level(logging.WARNING, "manus"):
        assert not catalog.add(other)
    assert "ADD" in caplog.text
    assert catalog.find("ADD") is catalog.find("add") is add
    assert catalog.find("subtract") is None
    assert catalog.names() == ["add", "greet"]
    assert "`greet`? The tools are: add, greet." in catalog.explain_unknown("Gret")
    assert len(catalog.explain_unknown("x" * 10_000_000)) < 200


OTHER_NAMES = [
    ("shell", "bash"),
    ("run_terminal_cmd", "bash"),
    ("functions.execute_bash", "bash"),
    ("Bash ", "bash"),
    ("execute-code", "python_execute"),
    ("ReadFile", "str_replace_editor"),
    ("write_file", "str_replace_editor"),
    ("finish", "terminate"),
    ("google_search", "web_search"),
    ("TodoWrite", "planning"),
    ("web_fetch", "browser_use"),
    ("ask_user", "ask_human"),
    ("python_exec", "python_execute"),
]


@pytest.mark.parametrize(("name", "expected"), OTHER_NAMES)
def test_tool_names_of_other_agents(session: Session, name: str, expected: str) -> None:
    catalog = build_catalog(list(BUILT_IN), session)
    assert f"Did you mean `{expected}`?" in catalog.explain_unknown(name)


def test_a_known_name_whose_tool_is_missing_suggests_nothing(session: Session) -> None:
    catalog = build_catalog(["skill", "terminate"], session)
    assert "Did you mean" not in catalog.explain_unknown("shell")


async def test_all_are_executed_in_order() -> None:
    order: list[str] = []

    def recording(name: str) -> BaseTool:
        async def run() -> str:
            """Record that it ran."""
            await asyncio.sleep(0)
            order.append(name)
            return name

        return tool(name)(run)

    catalog = Catalog([recording("b"), recording("a"), add])
    observations = await catalog.execute_all({"ADD": {"a": 1, "b": 1}})
    assert [o.text for o in observations] == ["b", "a", "2"]
    assert order == ["b", "a"]
    assert [o.is_error for o in await catalog.execute_all()] == [False, False, True]
    unknown = await catalog.execute("sum")
    assert (unknown.is_error, unknown.text) == (True, catalog.explain_unknown("sum"))


def test_every_built_in_tool_and_its_arguments_are_described(
    session: Session, subtests: pytest.Subtests
) -> None:
    catalog = build_catalog(list(BUILT_IN), session)
    assert catalog.names() == list(BUILT_IN)
    for schema in catalog.schemas():
        with subtests.test(tool=schema["function"]["name"]):
            assert schema["function"]["description"]
        for argument in schema["function"]["parameters"]["properties"].values():
            with subtests.test(schema=schema, argument=argument):
                assert argument["description"]
    # an optional field is not described as nullable
    [schema] = build_catalog(["str_replace_editor"], session).schemas()
    takes = schema["function"]["parameters"]
    assert takes["properties"]["old_str"]["type"] == "string"
    assert takes["required"] == ["command", "path"]
    assert "null" not in str(takes)


class Part(BaseModel):
    name: str
    weight: float = 1.0


class Report(BaseModel):
    """The results."""

    title: str = Field(description="One line")
    parts: list[Part]
    config: dict[str, int] | None = None


_SINGLE: list[tuple[Any, Any, Any]] = [
    (str, "plain text", "plain text"),
    (int, 7, "7"),
    (bool, True, "true"),
    (list[int], [1, "2"], [1, 2]),
    (dict[str, float], {"a": 1}, {"a": 1.0}),
    (int | str, "x", "x"),
    (list[int], "[1, 2]", [1, 2]),
    (list[int] | str, "[1, 2]", "[1, 2]"),
    (list[Part], [{"name": "a"}], [{"name": "a", "weight": 1.0}]),
    (Part | None, None, "null"),
    (RootModel[list[int]], [1, 2], [1, 2]),
]


async def test_one_value_is_the_argument_response(
    session: Session, subtests: pytest.Subtests
) -> None:
    for response_type, arguments, expected in _SINGLE:
        with subtests.test(response_type=response_type, arguments=arguments):
            tool = CreateChatCompletion(response_type=response_type, session=session)
            observation = await Catalog([tool]).execute(tool.name, {"response": arguments})
            assert not observation.is_error, response_type
            output = observation.text
            assert (output if isinstance(expected, str) else json.loads(output)) == expected


async def test_the_fields_of_a_model_are_the_arguments(session: Session) -> None:
    tool = CreateChatCompletion(response_type=Report, session=session)
    [schema] = Catalog([tool]).schemas()
    parameters = schema["function"]["parameters"]
    assert set(parameters["properties"]) == {"title", "parts", "config"}
    assert parameters["required"] == ["title", "parts"]
    args = {"title": "t", "parts": [{"name": "p", "weight": "2"}], "config": {"a": 1}}
    observation = await Catalog([tool]).execute(tool.name, args)
    assert Report.model_validate_json(observation.text) == Report(
        title="t", parts=[Part(name="p", weight=2)], config={"a": 1}
    )
    observation = await Catalog([tool]).execute(tool.name, {"title": 1, "parts": [{"nam": "x"}]})
    assert "- `title`: Input should be a valid string (got 1)\n" in observation.text
    assert "- `parts.0.name`: Field required\n" in observation.text
