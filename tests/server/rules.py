"""What the real API refuses with status 400, checked here so that a test sees it too.

The sentences follow the API's own. Two rules are those of stricter compatible servers, which an
agent meets as well: the arguments of calls in the history are valid JSON, tool names are unique.
"""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.server.request import Json, Request

_PARTS = {
    "system": {"text"},
    "user": {"text", "image_url"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGE = re.compile(r"https?://\S+|data:image/[a-z+.-]+;base64,(?P<data>.+)", re.DOTALL)
_PARAMETERS = (
    "max_completion_tokens max_tokens messages model n parallel_tool_calls reasoning_effort "
    "response_format seed stop stream stream_options temperature tool_choice tools top_p user"
)


def refusal(request: Request) -> str | None:
    """Say why the real API would refuse this request, None when it would not."""
    return next(_violations(request.body), None)


def _violations(body: Json) -> Iterator[str]:
    if not body:
        yield "We could not parse the JSON body of your request."
        return
    yield from _parameters(body)
    yield from _tools(body)
    yield from _messages(body["messages"])
    yield from _pairs(body["messages"])


def _parameters(body: Json) -> Iterator[str]:
    for name in sorted(set(body) - set(_PARAMETERS.split())):
        yield f"Unrecognized request argument supplied: {name}"
    if not body.get("model"):
        yield "you must provide a model parameter"
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        yield "Invalid 'messages': expected an array with minimum length 1."
    if "stream_options" in body and body.get("stream") is not True:
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    if "tool_choice" in body and "tools" not in body:
        yield "'tool_choice' is only allowed when 'tools' are specified."


def _tools(body: Json) -> Iterator[str]:
    if "tools" not in body:
        return
    tools = body["tools"]
    if not isinstance(tools, list) or not tools:
        yield "Invalid 'tools': empty array. Expected an array with minimum length 1."
        return
    for index, tool in enumerate(tools):
        yield from _tool(f"tools[{index}]", tool)
    names = [tool["function"]["name"] for tool in tools]
    if len(set(names)) < len(names):
        yield f"Tool names must be unique, but got {names}."
    if body.get("tool_choice", "auto") not in ("none", "auto", "required"):
        yield f"Tool choice {body['tool_choice']!r} not found in 'tools' parameter."


def _tool(where: str, tool: Any) -> Iterator[str]:
    if not _is_function(tool):
        yield f"Invalid '{where}': expected an object of type 'function'."
        return
    yield from _name(f"{where}.function.name", tool["function"].get("name"))
    schema = tool["function"].get("parameters", {"type": "object", "properties": {}})
    if schema.get("type") != "object" or "properties" not in schema:
        yield f"Invalid schema '{where}.function.parameters': no object with properties."
    yield from _arrays(f"{where}.function.parameters", schema)


def _arrays(where: str, schema: Any) -> Iterator[str]:
    """Refuse a schema of type array, at any depth, that does not say what its items are."""
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "array" and not {"items", "prefixItems"} & set(schema):
        yield f"Invalid schema '{where}': array schema missing items."
    for key, value in schema.items():
        if key not in ("default", "enum", "const", "examples"):
            yield from _arrays(f"{where}.{key}", value)


def _messages(messages: list[Any]) -> Iterator[str]:
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        role = message.get("role") if isinstance(message, dict) else None
        if role not in _PARTS:
            yield f"Invalid value for '{where}.role': {role!r}. Supported values are: {[*_PARTS]}."
            continue
        if role == "tool" and not isinstance(message.get("tool_call_id"), str):
            yield f"Missing parameter '{where}.tool_call_id'."
        if "tool_calls" in message:
            yield from _calls(f"{where}.tool_calls", role, message["tool_calls"])
        yield from _content(where, role, message)


def _content(where: str, role: str, message: Json) -> Iterator[str]:
    where, content = f"{where}.content", message.get("content")
    if content is None:
        if role != "assistant" or not (message.get("tool_calls") or message.get("refusal")):
            yield f"Invalid value for '{where}': expected a string, got null."
    elif isinstance(content, list):
        if not content:
            yield f"Invalid '{where}': empty array. Expected an array with minimum length 1."
        for index, part in enumerate(content):
            yield from _part(f"{where}[{index}]", role, part)
    elif not isinstance(content, str):
        yield f"Invalid type for '{where}': expected a string or an array of objects."


def _part(where: str, role: str, part: Any) -> Iterator[str]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind not in _PARTS[role]:
        yield f"Invalid '{where}': a part of type {kind!r} is not allowed for role '{role}'."
    elif kind == "text" and not isinstance(part.get("text"), str):
        yield f"Missing required parameter: '{where}.text'."
    elif kind == "image_url" and not _is_image(part.get("image_url")):
        yield f"Invalid '{where}.image_url': expected a URL or a base64-encoded data URL."


def _is_image(image: Any) -> bool:
    match = _IMAGE.fullmatch(str(image.get("url"))) if isinstance(image, dict) else None
    try:
        return match is not None and bool(base64.b64decode(match["data"] or "aGk=", validate=True))
    except ValueError:
        return False


def _calls(where: str, role: str, calls: Any) -> Iterator[str]:
    if role != "assistant":
        yield f"Invalid '{where}': only assistant messages carry tool calls."
    elif not isinstance(calls, list) or not calls:
        yield f"Invalid '{where}': expected an array with minimum length 1, but got {calls!r}."
    else:
        for index, call in enumerate(calls):
            yield from _call(f"{where}[{index}]", call)
        ids = [call["id"] for call in calls]
        if len(set(ids)) < len(ids):
            yield f"Duplicate id in '{where}': {ids}."


def _call(where: str, call: Any) -> Iterator[str]:
    if not _is_function(call):
        yield f"Invalid '{where}': expected an object of type 'function'."
        return
    if not isinstance(call.get("id"), str) or not call["id"]:
        yield f"Invalid type for '{where}.id': expected a string, got {call.get('id')!r}."
    elif len(call["id"]) > 40:
        yield f"Invalid '{where}.id': string too long. Expected a maximum length of 40."
    yield from _name(f"{where}.function.name", call["function"].get("name"))
    arguments = call["function"].get("arguments")
    if not _is_json(arguments):
        yield f"Invalid '{where}.function.arguments': {arguments!r:.80} is not a JSON string."


def _is_function(item: Any) -> bool:
    """Whether a tool or a call has the outer form of a function."""
    return (
        isinstance(item, dict)
        and item.get("type") == "function"
        and isinstance(item.get("function"), dict)
    )


def _name(where: str, name: Any) -> Iterator[str]:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield f"Invalid '{where}': {name!r} does not match '^[a-zA-Z0-9_-]+$' of at most 64."


def _is_json(text: Any) -> bool:
    try:
        return isinstance(text, str) and json.dumps(json.loads(text), allow_nan=False) != ""
    except ValueError:
        return False


def _pairs(messages: list[Json]) -> Iterator[str]:
    """Refuse calls and tool messages that do not belong together, one to one and side by side."""
    open_, answered = set[str](), set[str]()
    for index, message in enumerate(messages):
        if message["role"] != "tool":
            yield from _unanswered(open_)
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
    yield from _unanswered(open_)


def _unanswered(ids: set[str]) -> Iterator[str]:
    if ids:
        yield (
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(sorted(ids))
        )
