"""Tools in the form that particular servers accept."""

import copy
import json
from enum import IntEnum
from typing import Any, Literal

import pytest
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from benchmarks.request_size import first_request
from manus.graph.profiles import PROFILES
from manus.models.server_rules import ServerRules
from manus.models.tool_schemas import adapt_tools

LENIENT = ServerRules()
STRICT = ServerRules().refusing("json_schema", "descriptions:1024", "call_names")


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


@tool
def pick(count: Literal[1, 2], size: Size = Size.SMALL) -> str:
    """Pick something."""
    return f"{count} {size}"


def offer(parameters: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "t", "parameters": parameters, **fields}}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


TEXT = {"type": "string"}
ANY = {"type": "object", "description": "Any"}
AS_TEXT = {"type": "string", "description": "Any (as JSON text)"}
NODE = obj(next={"$ref": "#/$defs/node"})
SCHEMAS: dict[str, tuple[Any, Any, Any]] = {
    "none": (None, obj(), None),
    "a list of properties": ({"type": "object", "properties": []}, obj(), None),
    "alternatives at the root": (
        {"anyOf": [obj(a=TEXT), {**obj(b=TEXT), "required": ["b"]}]},
        obj(a=TEXT, b=TEXT),
        obj(a=TEXT, b=TEXT),
    ),
    "a reference at the root": (
        {"$ref": "#/$defs/a", "$defs": {"a": obj(b=TEXT)}},
        {**obj(b=TEXT), "$defs": {"a": obj(b=TEXT)}},
        obj(b=TEXT),
    ),
    "an array without items": (
        obj(a={"type": "array"}),
        obj(a={"type": "array", "items": {}}),
        obj(a={"type": "array", "items": TEXT}),
    ),
    "schemas that are true": (
        obj(a={"type": "array", "items": True}, b={"anyOf": [TEXT, True]}),
        ...,
        obj(a={"type": "array", "items": TEXT}, b=TEXT),
    ),
    "types": (obj(a={"type": ["null", "integer"]}), ..., obj(a={"type": "integer"})),
    "an optional one": (obj(a={"anyOf": [TEXT, {"type": "null"}]}), ..., obj(a=TEXT)),
    "a union": (
        obj(a={"description": "A", "oneOf": [TEXT, {"type": "integer"}]}),
        ...,
        obj(a={"anyOf": [{**TEXT, "description": "A"}, {"type": "integer", "description": "A"}]}),
    ),
    "integers": (
        obj(a={"type": "integer", "enum": [1, 2], "description": "N"}),
        ...,
        obj(a={"type": "integer", "description": "N (one of 1, 2)"}),
    ),
    "integers without a type": (
        obj(a={"enum": [1, 2]}),
        ...,
        obj(a={"type": "integer", "description": "(one of 1, 2)"}),
    ),
    "texts": (obj(a={"enum": ["x", "", None]}), ..., obj(a={**TEXT, "enum": ["x"]})),
    "a constant": (obj(a={"const": "x"}), ..., obj(a={**TEXT, "enum": ["x"]})),
    "open objects": (
        obj(a=ANY, b={"type": "array", "items": ANY}, c={"anyOf": [obj(d=ANY)]}),
        ...,
        obj(a=AS_TEXT, b={"type": "array", "items": AS_TEXT}, c=obj(d=AS_TEXT)),
    ),
    "keywords": (
        {**obj(a={**TEXT, "pattern": "x", "default": "", "format": "uri"}), "$schema": "x"},
        ...,
        obj(a=TEXT),
    ),
    "an unknown type": (obj(a={"type": "file"}), ..., obj(a=TEXT)),
    "a schema of true": (obj(a=True), obj(a={}), obj(a=TEXT)),
    "itself": (
        {**obj(a={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}},
        ...,
        obj(a=obj(next=TEXT)),
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_adapted(name: str) -> None:
    schema, lenient, strict = SCHEMAS[name]
    before = copy.deepcopy(schema)
    [tool] = adapt_tools([offer(schema)], LENIENT).tools
    assert tool["function"]["parameters"] == (schema if lenient is ... else lenient)
    [tool] = adapt_tools([offer(schema)], STRICT).tools
    assert tool["function"].get("parameters") == strict
    assert schema == before


def test_tools_of_python_functions_are_adapted() -> None:
    [adapted] = adapt_tools([convert_to_openai_tool(pick)], STRICT).tools
    properties = adapted["function"]["parameters"]["properties"]
    assert {name: part["type"] for name, part in properties.items()} == dict.fromkeys(
        ("count", "size"), "integer"
    )
    assert "enum" not in json.dumps(properties)
    assert "one of 1, 2" in properties["count"]["description"]


def test_names_that_servers_refuse_are_replaced(caplog: pytest.LogCaptureFixture) -> None:
    names = ["a.b", "搜索", "浏览", "x" * 80, "x" * 81, "_a", "fine", "a-b"]
    tools = [offer(obj(), name=name) for name in names]
    for rules in (LENIENT, STRICT):
        offered = adapt_tools(tools, rules)
        wire = [tool["function"]["name"] for tool in offered.tools]
        assert [offered.names.get(name, name) for name in wire] == names
        assert len(set(wire)) == len(names)
        assert all(name.isascii() and len(name) <= 64 for name in wire)
    assert adapt_tools(tools, LENIENT).names.keys().isdisjoint({"_a", "fine", "a-b"})
    assert not caplog.records


def test_a_tool_that_no_server_accepts_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    deep: Any = TEXT
    for _ in range(5_000):
        deep = {"type": "array", "items": deep}
    bad = {"deep": obj(a=deep), "reference": {"$ref": "#/$defs/none"}, "kind": {"anyOf": 3}}
    tools = [offer(schema, name=name) for name, schema in bad.items()]
    offered = adapt_tools([*tools, offer(obj(), name="good")], LENIENT)
    assert [tool["function"]["name"] for tool in offered.tools] == ["good"]
    assert [name in caplog.text for name in bad] == [True] * len(bad)


def test_descriptions_are_cut() -> None:
    long = offer(obj(a={**TEXT, "description": "y" * 3000}), description="x" * 3000)
    [tool] = adapt_tools([long], STRICT).tools
    texts = [tool["function"]["description"]]
    texts.append(tool["function"]["parameters"]["properties"]["a"]["description"])
    assert [len(text) for text in texts] == [1024, 1024]


@pytest.mark.parametrize("profile", PROFILES)
async def test_our_own_tools_need_no_adaptation(profile: str) -> None:
    """Their bytes are the same for a lenient server, and no description is cut for a strict one."""
    schemas = json.loads((await first_request(profile)).schemas)
    assert json.dumps(adapt_tools(schemas, LENIENT).tools) == json.dumps(schemas)
    for schema in schemas:
        assert len(schema["function"]["description"]) <= 1024, schema["function"]["name"]
        [adapted] = adapt_tools([schema], STRICT).tools
        assert adapted["function"]["description"] == schema["function"]["description"]
        assert adapted["function"]["name"] == schema["function"]["name"]
