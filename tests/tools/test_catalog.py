"""A profile's tools: looked up, added, executed, described."""

import asyncio
import importlib
import logging

import pytest
from langchain_core.tools import BaseTool, tool

from manus.tools.catalog import BUILT_IN, Catalog, build_catalog
from manus.tools.session import Session


@tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@tool
async def greet(name: str = "you") -> str:
    """Greet somebody."""
    return f"hello {name}"


def test_a_tool_is_found_in_any_letter_case_and_there_is_one_of_a_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool("ADD")
    def other(text: str) -> str:
        """Something else."""
        return text

    catalog = Catalog([add, greet])
    with caplog.at_level(logging.WARNING, "manus"):
        assert not catalog.add(other)
    assert "ADD" in caplog.text
    assert catalog.find("ADD") is catalog.find("add") is add
    assert catalog.find("subtract") is None
    assert catalog.names() == ["add", "greet"]
    assert "`greet`? The tools are: add, greet." in catalog.unknown("Gret")
    assert len(catalog.unknown("x" * 10_000_000)) < 200


def test_what_may_be_left_out_is_not_said_to_be_null_too(session: Session) -> None:
    [schema] = build_catalog(["str_replace_editor"], session).schemas()
    takes = schema["function"]["parameters"]
    assert takes["properties"]["old_str"]["type"] == "string"
    assert takes["required"] == ["command", "path"]
    assert "null" not in str(takes)


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
    assert (unknown.is_error, unknown.text) == (True, catalog.unknown("sum"))


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_tool_is_where_it_is_said_to_be(name: str, session: Session) -> None:
    catalog = build_catalog([name], session)
    assert catalog.names() == [name]
    [schema] = catalog.schemas()
    assert schema["function"]["description"]
    for argument in schema["function"]["parameters"]["properties"].values():
        assert argument["description"], "each argument says what it is"
    module, _, factory = BUILT_IN[name].partition(":")
    assert isinstance(catalog.find(name), getattr(importlib.import_module(module), factory))
