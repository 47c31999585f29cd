"""Adapt the names, descriptions and schemas of tools to a model server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from langchain_core.utils.json_schema import dereference_refs

from manus.models.server_rules import ServerRules
from manus.models.valid_messages import valid_name
from manus.state.text import one_line

log = logging.getLogger("manus")

Json = dict[str, Any]

_KEPT = ("description", "minimum", "maximum", "minItems", "maxItems")
"""Keywords that stay as they are where only a part of JSON schema is accepted."""
_ROOT = ("type", "properties", "required")
_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_UNIONS = ("anyOf", "oneOf", "allOf")
_NESTED = (*_UNIONS, "items", "prefixItems", "additionalProperties", "not", "if", "then", "else")
_BY_NAME = ("properties", "$defs", "definitions", "patternProperties")
"""Keywords whose values are schemas, lists of them, or schemas by name."""


class OfferedTools(NamedTuple):
    """The tools of a request, in the form that its server accepts."""

    tools: list[Json]
    names: dict[str, str]
    """Names of tools by the name under which a server knows them, where the two differ."""


def adapt_tools(tools: Sequence[Json], rules: ServerRules) -> OfferedTools:
    """Return the tools in a form that a server accepts; one that has none is left out.

    Servers refuse the whole request because of one tool.
    """
    adapted: list[Json] = []
    names: dict[str, str] = {}
    taken: set[str] = set()
    for tool in tools:
        function = tool.get("function")
        if not isinstance(function, Mapping):  # executed by the provider
            adapted.append(tool)
            continue
        name = str(function["name"])
        new_name = valid_name(name, rules)
        if name in rules.left_out or new_name in taken:
            continue
        try:
            adapted.append({**tool, "function": _adapt(function, new_name, rules)})
        except (RecursionError, TypeError, ValueError, AttributeError, KeyError) as error:
            log.warning(
                "The tool `%s` is left out: its schema cannot be read (%s).",
                name,
                one_line(str(error), 200),
            )
            continue
        taken.add(new_name)
        if new_name != name:
            names[new_name] = name
    return OfferedTools(adapted, names)


def _adapt(function: Mapping[str, Any], name: str, rules: ServerRules) -> Json:
    adapted: Json = {**function, "name": name}
    if "parameters" in function:
        parameters = _as_object(function["parameters"])
        if not rules.json_schema:
            properties = dereference_refs(parameters)["properties"]
            parameters["properties"] = _change_each(properties, _reduce)
            parameters = {key: parameters[key] for key in _ROOT if key in parameters}
        adapted["parameters"] = parameters
        if not (rules.json_schema or parameters["properties"]):
            del adapted["parameters"]
    limit = rules.description_limit
    if limit is not None:
        shorten_one = partial(_shorten, limit=limit)
        if "parameters" in adapted:
            adapted["parameters"] = _change(adapted["parameters"], shorten_one)
        adapted = shorten_one(adapted)
    return adapted


def _as_object(parameters: Any) -> Json:
    """Return the schema of arguments as that of an object: without alternatives, a copy."""
    if not isinstance(parameters, dict):
        return {"type": "object", "properties": {}}
    if "$ref" in parameters:
        parameters = dereference_refs(parameters)
    root = _change(parameters, _complete)
    properties = root.get("properties", {})
    for kind in _UNIONS:
        for member in root.pop(kind, None) or ():
            properties = {**member.get("properties", {}), **properties}
    root |= {"type": "object", "properties": properties}
    required = [name for name in root.pop("required", None) or () if name in properties]
    return {**root, "required": required} if required else root


def _change(schema: Any, change: Callable[[Json], Json]) -> Any:
    """Return a copy of a schema with each schema in it changed, the innermost first."""
    if isinstance(schema, list):
        return [_change(member, change) for member in schema]
    if not isinstance(schema, dict):
        return schema
    copy: Json = {}
    for key, value in schema.items():
        if key in _BY_NAME:
            copy[key] = _change_each(value, change)
        else:
            copy[key] = _change(value, change) if key in _NESTED else value
    return change(copy)


def _change_each(schemas: Any, change: Callable[[Json], Json]) -> Json:
    if not isinstance(schemas, dict):  # an empty list, where a language has one type for both
        return {}
    changed = {}
    for name, schema in schemas.items():
        changed[name] = _change(schema if isinstance(schema, dict) else {}, change)
    return changed


def _complete(schema: Json) -> Json:
    """Return a schema with what every server requires of an array."""
    if "array" in _list_types(schema) and not {"items", "prefixItems"} & schema.keys():
        return {**schema, "items": {}}
    return schema


def _list_types(schema: Json) -> list[Any]:
    kinds = schema.get("type")
    return kinds if isinstance(kinds, list) else [kinds]


def _reduce(schema: Json) -> Json:
    """Return a schema reduced to what every provider supports; its inner ones are already reduced.

    No unions of types, null, constants, or values that are not strings; an object whose properties
    are not named is requested as JSON text. Source: ai.google.dev/api/caching#Schema.
    """
    if schema.get("type") == "null":
        return schema
    reduced = {key: schema[key] for key in _KEPT if key in schema}
    members = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or ()
    members = [member for member in members if isinstance(member, dict)]  # `true`: any value
    members = [{**reduced, **member} for member in members if member.get("type") != "null"]
    if members:
        return members[0] if len(members) == 1 or "allOf" in schema else {"anyOf": members}
    kind = next((kind for kind in _list_types(schema) if kind not in (None, "null")), None)
    values = [schema["const"]] if "const" in schema else schema.get("enum") or []
    if kind not in _TYPES:
        kind = "object" if "properties" in schema else "string"
        if values and all(type(value) is int for value in values):
            kind = "integer"
    if kind == "object" and not schema.get("properties"):
        return {"type": "string", "description": _append(schema, "as JSON text")}
    if values and kind != "string":
        reduced["description"] = _append(schema, f"one of {', '.join(map(str, values))}")
    elif values:
        reduced["enum"] = [str(value) for value in values if value not in ("", None)]
    if kind == "array":
        items = schema.get("items")
        reduced["items"] = items if items and isinstance(items, dict) else {"type": "string"}
    if kind == "object":
        reduced |= {key: schema[key] for key in ("properties", "required") if key in schema}
    return {**reduced, "type": kind}


def _append(schema: Json, note: str) -> str:
    return f"{schema.get('description') or ''} ({note})".strip()


def _shorten(schema: Json, limit: int) -> Json:
    text = schema.get("description")
    if isinstance(text, str) and len(text) > limit:
        return {**schema, "description": f"{text[: limit - 1]}…"}
    return schema
