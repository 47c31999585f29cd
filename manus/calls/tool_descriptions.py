"""Describe tools to a model: in one line, or in full with an example call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from langchain_core.tools import BaseTool

from manus.calls.base import AgentTool
from manus.prompts import on_demand as prompts
from manus.prompts.sources import framed
from manus.state.text import one_line

_MAX_SUMMARY = 90
_MAX_LISTING = 6_000
"""Maximum length of the list of one server's tools; a longer one consists of names only."""
_MAX_ARGUMENTS = 4
"""Maximum number of required arguments that the list names."""
_MAX_DEPTH = 4
"""Maximum number of levels of nested objects in an example."""
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{0,30}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")

Schema = Mapping[str, Any]


def list_tools(tools: Iterable[BaseTool], parameters: Mapping[str, Schema]) -> str:
    """Return the list of tools, one per line; those of a server are framed as untrusted text.

    `parameters` has the JSON schema of each tool's arguments by name.
    """
    sections = []
    for origin, group in groupby(tools, key=_get_origin):
        members = list(group)
        lines = [_describe_briefly(tool, parameters[tool.name]) for tool in members]
        text = "\n".join(lines)
        if len(text) > _MAX_LISTING:
            text = ", ".join(tool.name for tool in members)
        sections.append(framed(text, origin))
    return "\n".join(sections)


def _get_origin(tool: BaseTool) -> str:
    return tool.origin if isinstance(tool, AgentTool) else ""


def _describe_briefly(tool: BaseTool, parameters: Schema) -> str:
    """Return one line with a tool's name, its required arguments, and a summary."""
    names = list_named_arguments(parameters)
    if len(parameters.get("properties", ())) > len(names):
        names.append("…")
    return f"- {tool.name}({', '.join(names)}): {_summarize(tool)}"


def list_named_arguments(parameters: Schema) -> list[str]:
    """Return the arguments that the line of a tool names: the first required ones."""
    required = [name for name in parameters.get("required", ()) if _IDENTIFIER.fullmatch(name)]
    return required[:_MAX_ARGUMENTS]


def _summarize(tool: BaseTool) -> str:
    """Return a tool's own summary, or the first sentence of its description."""
    if isinstance(tool, AgentTool) and tool.summary:
        return tool.summary
    text = (isinstance(tool, AgentTool) and tool.raw_description) or tool.description
    return one_line(_SENTENCE_END.split(text.strip(), maxsplit=1)[0], _MAX_SUMMARY)


def describe_tool(tool: BaseTool, parameters: Schema) -> str:
    """Return the description of a tool, the schema of its arguments, and an example of a call."""
    example = tool.example if isinstance(tool, AgentTool) else None
    if example is None:
        example = build_example(parameters)
    return prompts.description(
        tool.name,
        tool.description,
        _to_json(parameters),
        _to_json({"name": tool.name, "arguments": example}),
    )


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def build_example(schema: Schema, root: Schema | None = None, depth: int = 0) -> Any:
    """Return a value that fits a JSON schema; objects have their required properties."""
    root = root or schema
    schema = _resolve(schema, root)
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    for key in ("anyOf", "oneOf"):
        members = [m for m in schema.get(key, ()) if m.get("type") != "null"]
        if members and depth < _MAX_DEPTH:
            return build_example(members[0], root, depth + 1)
    match schema.get("type"):
        case "object" | None if depth < _MAX_DEPTH:
            properties = schema.get("properties", {})
            required = [name for name in schema.get("required", ()) if name in properties]
            return {name: build_example(properties[name], root, depth + 1) for name in required}
        case "array" if depth < _MAX_DEPTH:
            return [build_example(schema.get("items") or {"type": "string"}, root, depth + 1)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
    return "…"


def _resolve(schema: Schema, root: Schema) -> Schema:
    """Return the definition that a schema refers to, or the schema itself."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    target: Any = root
    for key in reference[2:].split("/"):
        target = target.get(key, {}) if isinstance(target, Mapping) else {}
    return target if isinstance(target, Mapping) else {}
