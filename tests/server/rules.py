"""Requests that the real API rejects with status 400 and an agent may send, checked in every test.

The sentences follow the API's own. Three rules are those of stricter compatible servers, which an
agent must satisfy as well: the arguments of calls in the history are valid JSON, tool names are
unique, a user's message has content.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.server.request import Json, Request

_PARAMETERS = (
    "max_completion_tokens max_tokens messages model n parallel_tool_calls reasoning_effort "
    "response_format seed stop stream stream_options temperature tool_choice tools top_p user"
)


def refusal(request: Request) -> str | None:
    """Return the reason why the real API would reject this request, or None."""
    return next(_violations(request.body), None)


def _violations(body: Json) -> Iterator[str]:
    yield from _parameters(body)
    yield from _tools(body.get("tools", []))
    for index, message in enumerate(body["messages"]):
        if message["role"] == "user" and not message.get("content"):
            yield f"messages[{index}]: user messages must have non-empty content."
        yield from _calls(f"messages[{index}].tool_calls", message.get("tool_calls", []))
    yield from _pairs(body["messages"])


def _parameters(body: Json) -> Iterator[str]:
    for name in sorted(set(body) - set(_PARAMETERS.split())):
        yield f"Unrecognized request argument supplied: {name}"
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        yield "Invalid 'messages': expected an array with minimum length 1."
    if "stream_options" in body and body.get("stream") is not True:
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    if "tool_choice" in body and not body.get("tools"):
        yield "'tool_choice' is only allowed when 'tools' are specified."


def _tools(tools: list[Json]) -> Iterator[str]:
    tools = [tool for tool in tools if tool.get("type") == "function"]  # others are the provider's
    names = [tool["function"]["name"] for tool in tools]
    if len(set(names)) < len(names):
        yield f"Tool names must be unique, but got {names}."
    for name, tool in zip(names, tools, strict=True):
        yield from _arrays(name, tool["function"].get("parameters"))


def _arrays(where: str, schema: Any) -> Iterator[str]:
    """Reject a schema of type array, at any depth, that does not define its items."""
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "array" and not {"items", "prefixItems"} & set(schema):
        yield f"Invalid schema '{where}': array schema missing items."
    for key, value in schema.items():
        if key not in ("default", "enum", "const", "examples"):
            yield from _arrays(f"{where}.{key}", value)


def _calls(where: str, calls: list[Json]) -> Iterator[str]:
    ids = [call["id"] for call in calls]
    if len(set(ids)) < len(ids):
        yield f"Duplicate id in '{where}': {ids}."
    if any(not isinstance(id_, str) or not 1 <= len(id_) <= 40 for id_ in ids):
        yield f"Invalid id in '{where}': {ids}. Expected strings with a maximum length of 40."
    for call in calls:
        if not _is_json(call["function"]["arguments"]):
            yield f"Invalid arguments in '{where}': {call!r:.120} is not a JSON string."


def _is_json(text: Any) -> bool:
    try:
        return isinstance(text, str) and json.dumps(json.loads(text), allow_nan=False) != ""
    except ValueError:
        return False


def _pairs(messages: list[Json]) -> Iterator[str]:
    """Reject calls and tool messages that do not match one to one, or are not adjacent."""
    open_, answered = set[str](), set[str]()
    for index, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] != "tool":
            if open_:
                yield (
                    "An assistant message with 'tool_calls' must be followed by tool messages "
                    "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                    "response messages: " + ", ".join(sorted(open_))
                )
            open_, answered = {call["id"] for call in message.get("tool_calls", [])}, set()
        elif (id_ := message["tool_call_id"]) in open_:
            open_.remove(id_)
            answered.add(id_)
        elif id_ in answered:
            yield f"Invalid 'messages[{index}]': a second tool message for the call '{id_}'."
        else:
            yield (
                f"Invalid parameter: messages with role 'tool' must be a response to a preceding "
                f"message with 'tool_calls'; messages[{index}] answers '{id_}'."
            )
