"""Adapt the schemas of tools to a model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from manus.config.model_settings import ModelSettings

_AS_TEXT = "as JSON text"


@lru_cache(64)
def refuses_open_objects(endpoint: ModelSettings) -> bool:
    """Return whether the model of an endpoint refuses objects whose properties are not named."""
    return "gemini" in (endpoint.model or "").lower()


def adapt_tools(
    tools: list[dict[str, Any]] | None, endpoint: ModelSettings
) -> list[dict[str, Any]] | None:
    """Return the tools in a form that the model of an endpoint accepts.

    Gemini refuses a request with an object whose properties are not named, at any depth: "should be
    non-empty for OBJECT type". Such an object is therefore requested as JSON text.
    """
    if tools is None or not refuses_open_objects(endpoint):
        return tools
    return [_with_closed_objects(tool) for tool in tools]


def _with_closed_objects(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("parameters"), Mapping):
        return tool  # executed by the provider, or without arguments
    parameters = dict(function["parameters"])
    if isinstance(parameters.get("properties"), Mapping):
        parameters["properties"] = _close_each(parameters["properties"])
    if isinstance(parameters.get("$defs"), Mapping):
        parameters["$defs"] = _close_each(parameters["$defs"])
    return {**tool, "function": {**function, "parameters": parameters}}


def _close_each(schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _close(schema) for name, schema in schemas.items()}


def _close(schema: Any) -> Any:
    """Return a schema with a string in place of each object without properties."""
    if isinstance(schema, list):
        return [_close(member) for member in schema]
    if not isinstance(schema, Mapping):
        return schema
    if schema.get("type") == "object" and not schema.get("properties"):
        description = f"{schema.get('description', '')} ({_AS_TEXT})".strip()
        return {"type": "string", "description": description}
    closed = dict(schema)
    for key in ("items", "anyOf", "oneOf", "allOf"):
        if key in closed:
            closed[key] = _close(closed[key])
    for key in ("properties", "$defs"):
        if isinstance(closed.get(key), Mapping):
            closed[key] = _close_each(closed[key])
    return closed
