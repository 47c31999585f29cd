"""Profiles of strict servers: published rules that a request must satisfy, as switchable sets.

Each rule yields the refusal in the server's own words and shape. Sources are the validator's code,
the provider's reference, or a public report that quotes the response.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.server.replies import Raw, reply_json
from tests.server.request import Json

Rule = Callable[[Json], Iterator[Raw]]


@dataclass(frozen=True)
class StrictProfile:
    """A strict server, and the sources of its rules."""

    rules: tuple[Rule, ...]
    sources: tuple[str, ...]

    def refuse(self, body: Json) -> Raw | None:
        """Return the response to a request that breaks a rule."""
        refusals = (reply for rule in self.rules for reply in rule(body))
        return next(refusals, None)


def openai_error(message: str, *, param: str | None = None, code: str | None = None) -> Raw:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return reply_json({"error": error}, 400)


def plain_error(message: str, status: int = 400) -> Raw:
    return reply_json({"error": {"message": message}}, status)


def mistral_error(message: str) -> Raw:
    fields = {"object": "error", "type": "invalid_request_error", "param": None, "code": "3230"}
    return reply_json({**fields, "message": message}, 400)


def google_error(message: str) -> Raw:
    return reply_json(
        [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}], 400
    )


def extra_forbidden(*names: str, nested: bool = False) -> Rule:
    """Refuse parameters, as a FastAPI server with `extra="forbid"` does."""

    def rule(body: Json) -> Iterator[Raw]:
        for name in names:
            if name in body:
                entry = {"type": "extra_forbidden", "loc": ["body", name], "input": body[name]}
                entry["msg"] = "Extra inputs are not permitted"
                detail = {"detail": [entry]}
                if nested:
                    error = {"code": "Invalid input", "message": json.dumps(detail), "status": 422}
                    yield reply_json({"error": error}, 400)
                yield reply_json(detail, 422)

    return rule


def calls_in(body: Json) -> Iterator[tuple[int, int, Json]]:
    for index, message in enumerate(body["messages"]):
        for number, call in enumerate(message.get("tool_calls") or ()):
            yield index, number, call


def names_in(body: Json) -> Iterator[str]:
    yield from (tool["function"]["name"] for tool in body.get("tools", []))
    yield from (call["function"]["name"] for _, _, call in calls_in(body))


def mistral_order(body: Json) -> Iterator[Raw]:
    after = {
        "system": ("user", "assistant", "system"),
        "user": ("assistant", "system", "user"),
        "assistant": ("assistant", "user", "tool"),
        "tool": ("assistant", "tool"),
    }
    roles = [message["role"] for message in body["messages"]]
    for previous, role in itertools.pairwise(roles):
        if role not in after[previous]:
            yield mistral_error(f"Unexpected role '{role}' after role '{previous}'")


def mistral_ids(body: Json) -> Iterator[Raw]:
    for _, _, call in calls_in(body):
        if not re.fullmatch("[a-zA-Z0-9]{9}", call["id"]):
            yield mistral_error(
                f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9."
            )


def mistral_names(body: Json) -> Iterator[Raw]:
    for name in names_in(body):
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", name):
            yield mistral_error(
                f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and "
                "dashes, with a maximum length of 64."
            )


def openai_names(body: Json) -> Iterator[Raw]:
    for index, number, call in calls_in(body):
        where = f"messages[{index}].tool_calls[{number}].function.name"
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["function"]["name"]):
            yield openai_error(
                f"Invalid '{where}': string does not match pattern. Expected a string that matches "
                "the pattern '^[a-zA-Z0-9_-]+$'.",
                param=where,
                code="invalid_value",
            )


def openai_ids(body: Json) -> Iterator[Raw]:
    for index, number, call in calls_in(body):
        where = f"messages[{index}].tool_calls[{number}].id"
        if not 1 <= len(call["id"]) <= 40:
            yield openai_error(
                f"Invalid '{where}': string too long. Expected a string with maximum length 40, "
                f"but got a string with length {len(call['id'])} instead.",
                param=where,
                code="string_above_max_length",
            )


def openai_descriptions(body: Json) -> Iterator[Raw]:
    for index, tool in enumerate(body.get("tools", [])):
        length = len(tool["function"].get("description", ""))
        where = f"tools[{index}].function.description"
        if length > 1024:
            yield openai_error(
                f"Invalid '{where}': string too long. Expected a string with maximum length 1024, "
                f"but got a string with length {length} instead.",
                param=where,
                code="string_above_max_length",
            )


def openai_reasoner(body: Json) -> Iterator[Raw]:
    if "max_tokens" in body:
        yield openai_error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    if "temperature" in body:
        yield openai_error(
            "Unsupported value: 'temperature' does not support 0.5 with this model. Only the "
            "default (1) value is supported.",
            param="temperature",
            code="unsupported_value",
        )
    if body["messages"][0]["role"] == "system":
        yield openai_error(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            param="messages[0].role",
            code="unsupported_value",
        )


def bedrock_ids(body: Json) -> Iterator[Raw]:
    for index, _, call in calls_in(body):
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["id"]):
            yield plain_error(
                "1 validation error detected: Value at 'messages."
                f"{index}.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: "
                "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
            )


def bedrock_names(body: Json) -> Iterator[Raw]:
    for index, _, call in calls_in(body):
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["function"]["name"]):
            yield plain_error(
                "1 validation error detected: Value at 'messages."
                f"{index}.member.content.1.member.toolUse.name' failed to satisfy constraint: "
                "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
            )


def bedrock_texts(body: Json) -> Iterator[Raw]:
    for index, message in enumerate(body["messages"]):
        if message.get("content") == "":
            yield plain_error(
                f"The text field in the ContentBlock object at messages.{index}.content.0 is "
                "blank. Add text to the text field, and try again."
            )


def gemini_schemas(body: Json) -> Iterator[Raw]:
    for index, tool in enumerate(body.get("tools", [])):
        where = f"GenerateContentRequest.tools[0].function_declarations[{index}].parameters"
        if "parameters" in tool["function"]:
            yield from (
                google_error(f"* {message}\n")
                for message in gemini_schema(where, tool["function"]["parameters"])
            )


def gemini_schema(where: str, schema: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(schema.keys() & {"$ref", "$defs", "$schema", "const", "oneOf", "allOf"}):
        problem = f"Unknown name \"{name}\" at '{where}': Cannot find field."
        yield f"Invalid JSON payload received. {problem}"
    if isinstance(schema.get("type"), list):
        yield f"Proto field is not repeating, cannot start list at '{where}.type'."
    if "enum" in schema and schema.get("type") != "string":
        yield f"{where}.enum: only allowed for STRING type"
    if schema.get("type") == "object" and not schema.get("properties"):
        yield f"{where}.properties: should be non-empty for OBJECT type"
    if schema.get("type") == "array":
        if not schema.get("items"):
            yield f"{where}.items: missing field."
        yield from gemini_schema(f"{where}.items", schema.get("items") or {})
    for name, inner in (schema.get("properties") or {}).items():
        yield from gemini_schema(f"{where}.properties[{name}]", inner)
    for number, inner in enumerate(schema.get("anyOf") or ()):
        yield from gemini_schema(f"{where}.any_of[{number}]", inner)


def no_images(message: str, status: int = 400) -> Rule:
    """Refuse images, as a server of a text model does."""

    def rule(body: Json) -> Iterator[Raw]:
        if '"image_url"' in json.dumps(body["messages"]):
            yield plain_error(message, status)

    return rule


def no_lists(body: Json) -> Iterator[Raw]:
    for index, message in enumerate(body["messages"]):
        if isinstance(message.get("content"), list):
            loc = ["body", "messages", index, "content"]
            entry = {"type": "string_type", "loc": loc, "msg": "Input should be a valid string"}
            yield reply_json({"detail": [{**entry, "input": message["content"]}]}, 422)


def moonshot(body: Json) -> Iterator[Raw]:
    for index, message in enumerate(body["messages"]):
        if not message.get("content") and not message.get("tool_calls"):
            yield openai_error(
                f"Invalid request: message at position {index} with role '{message['role']}' must "
                "not be empty"
            )
    for name in names_in(body):
        if not re.fullmatch("[a-zA-Z][a-zA-Z0-9_-]{0,63}", name):
            yield openai_error(
                "Invalid request: function name is invalid, must start with a letter and can "
                "contain letters, numbers, underscores, and dashes"
            )
    if body.get("temperature", 1) != 1:
        yield openai_error("invalid temperature: only 1 is allowed for this model")


def dashscope(body: Json) -> Iterator[Raw]:
    if any(message.get("content") is None for message in body["messages"]):
        yield openai_error(
            "<400> InternalError.Algo.InvalidParameter: The content field is a required field."
        )
    if body.get("max_tokens", 0) > 8192:
        yield openai_error(
            "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]"
        )


def ollama_null(body: Json) -> Iterator[Raw]:
    if any(message.get("content", "") is None for message in body["messages"]):
        yield openai_error("invalid message content type: <nil>")


def alternating(message: str, status: int) -> Rule:
    """Refuse what a chat template refuses: roles that do not alternate, apart from calls."""

    def rule(body: Json) -> Iterator[Raw]:
        roles = []
        for entry in body["messages"]:
            if entry["role"] == "user" or (
                entry["role"] == "assistant" and "tool_calls" not in entry
            ):
                roles.append(entry["role"])
        if any(role != ("user", "assistant")[n % 2] for n, role in enumerate(roles)):
            yield plain_error(message, status)

    return rule


def no_tools(body: Json) -> Iterator[Raw]:
    if body.get("tools"):
        yield plain_error(
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        )


def no_system(body: Json) -> Iterator[Raw]:
    if body["messages"][0]["role"] == "system":
        yield plain_error("System role not supported")


def no_reasoning(body: Json) -> Iterator[Raw]:
    for index, message in enumerate(body["messages"]):
        if "reasoning_content" in message:
            where = f"messages.{index}"
            yield openai_error(
                f"'{where}' : for 'role:assistant' the following must be satisfied[('{where}' : "
                "property 'reasoning_content' is unsupported)]"
            )


def gemini_signatures(body: Json) -> Iterator[Raw]:
    for message in body["messages"]:
        first = next(iter(message.get("tool_calls") or ()), None)
        if first is not None and "extra_content" not in first:
            yield google_error(
                "Function call is missing a thought_signature in functionCall parts."
            )


def wants_reasoning(body: Json) -> Iterator[Raw]:
    for message in body["messages"]:
        if message["role"] == "assistant" and "reasoning_content" not in message:
            yield openai_error(
                "The `reasoning_content` in the thinking mode must be passed back to the API."
            )


_JINJA = (
    "\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...\n"
    "Error: Jinja Exception: After the optional system message, conversation roles must alternate "
    "user and assistant roles except for tool calls and results."
)
_VALIDATOR = "mistral_common/protocol/instruct/validator.py (MistralRequestValidatorV3)"
PROFILES = {
    "mistral": StrictProfile(
        (extra_forbidden("stream_options"), mistral_order, mistral_ids, mistral_names),
        (_VALIDATOR, "github.com/vybestack/llxprt-code/issues/114"),
    ),
    "openai": StrictProfile(
        (openai_names, openai_ids, openai_descriptions),
        ("platform.openai.com/docs/api-reference/chat/create",),
    ),
    "openai-reasoning": StrictProfile(
        (openai_reasoner, openai_names, openai_ids),
        ("platform.openai.com/docs/guides/reasoning",),
    ),
    "bedrock": StrictProfile(
        (bedrock_ids, bedrock_names, bedrock_texts),
        (
            "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html",
            "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html",
        ),
    ),
    "gemini": StrictProfile(
        (gemini_schemas, gemini_signatures),
        (
            "ai.google.dev/api/caching#Schema",
            "github.com/MarkusPfundstein/mcp-obsidian/issues/21",
            "ai.google.dev/gemini-api/docs/thought-signatures",
        ),
    ),
    "azure": StrictProfile(
        (
            extra_forbidden("stream_options", "max_completion_tokens", nested=True),
            mistral_order,
            mistral_ids,
            no_lists,
        ),
        ("github.com/BerriAI/litellm/issues/11696", _VALIDATOR),
    ),
    "moonshot": StrictProfile((moonshot,), ("platform.moonshot.ai/docs/api/chat",)),
    "dashscope": StrictProfile(
        (dashscope, no_images("This model does not support image input.")),
        ("help.aliyun.com/zh/model-studio/error-code",),
    ),
    "ollama": StrictProfile(
        (
            ollama_null,
            no_images("this model is missing data required for image input", 500),
        ),
        ("github.com/ollama/ollama: openai/openai.go",),
    ),
    "llama.cpp": StrictProfile(
        (
            alternating(_JINJA, 500),
            no_images(
                "image input is not supported - hint: if this is unexpected, you may need to "
                "provide the mmproj",
                500,
            ),
        ),
        ("github.com/ggml-org/llama.cpp/issues/19851",),
    ),
    "vllm": StrictProfile(
        (
            no_system,
            no_tools,
            alternating("Conversation roles must alternate user/assistant/user/assistant/...", 400),
        ),
        ("docs.vllm.ai/en/latest/features/tool_calling.html",),
    ),
    "groq": StrictProfile((no_reasoning,), ("console.groq.com/docs/reasoning",)),
    "deepseek": StrictProfile((wants_reasoning,), ("api-docs.deepseek.com/guides/thinking_mode",)),
}
