"""What is learnt from refusals, in the words of public reports and of validators."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

from manus.config.model_settings import ModelSettings
from manus.models.chat_models import build_model
from manus.models.endpoint_call import ask_endpoint
from manus.models.model_request import ModelRequest
from manus.models.providers import find_rules
from manus.models.refusals import MAX_CHANGES, WORDS, SentRequest, find_change, learned_words
from manus.models.server_rules import ServerRules
from manus.models.valid_messages import valid_id, valid_name
from tests.server import ScriptedServer, fail, text

SENT = SentRequest(
    {
        "temperature": 0.5,
        "max_tokens": 10_000,
        "stream_options": {},
        "stream": True,
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "reasoning_content": None,
    },
    ["bash", "question"],
    frozenset(WORDS) - {"missing_reasoning"},
)


class ServerError(Exception):
    """An error as the clients of several providers raise it."""

    def __init__(self, body: Any, status: int = 400) -> None:
        super().__init__(str(body))
        self.body = body if isinstance(body, dict) else {"message": body}
        self.status_code = status


def forbidden(*names: str) -> dict[str, Any]:
    """Return the body of a FastAPI server that refuses parameters, and repeats their values."""
    kind = {"type": "extra_forbidden", "msg": "Extra inputs are not permitted", "input": 8192}
    return {"detail": [{**kind, "loc": ["body", name]} for name in names]}


def nested(message: str) -> dict[str, Any]:
    """Return OpenRouter's body, with the provider's message in JSON."""
    raw = json.dumps({"type": "error", "error": {"message": message}})
    return {"message": "Provider returned error", "metadata": {"raw": raw}}


PATTERN = "String should match pattern '^[a-zA-Z0-9_-]+$'"
LONG = "string too long. Expected a string with maximum length {} but got a string with length 3542"
JINJA = "After the optional system message, conversation roles must alternate user and assistant"
REFUSALS: list[tuple[Any, str | None]] = [
    ({"detail": "Unsupported parameter: temperature"}, "temperature"),
    ('{"detail":"Unsupported parameter: temperature"}', "temperature"),
    ("invalid temperature: only 1 is allowed for this model", "temperature"),
    ("Unsupported parameter: 'parallel_tool_calls' is not supported.", "parallel_tool_calls"),
    ("Unknwon parameter: 'stream_options'.", "stream_options"),
    ("Extra parameters ['parallel_tool_calls'] are not allowed.", "parallel_tool_calls"),
    (forbidden("store", "max_tokens"), "max_tokens"),
    ({"message": json.dumps(forbidden("stream_options")), "code": "1000"}, "stream_options"),
    ("The tool_choice parameter does not support being set to required", "tool_choice"),
    ("property 'reasoning_content' is unsupported, did you mean 'role'?", "reasoning_content"),
    ("max_tokens: 10000 > 8192, which is the maximum allowed", "max_tokens:8192"),
    ("Invalid content type. image_url is only supported by certain models.", "images"),
    ("this model does not support image input (ref: b8bd630e)", "images"),
    ("Model do not support image input.\nRequest id: 0217", "images"),
    ("No endpoints found that support image input", "images"),
    ("GLM-4.5 is not a multimodal model", "images"),
    (f"messages.5.content.0.tool_use.id: {PATTERN}", "call_ids"),
    (nested(f"messages.5.content.0.tool_use.id: {PATTERN}"), "call_ids"),
    ("Tool call id was call_9866 but must be a-z, A-Z, 0-9, with a length of 9.", "call_ids"),
    (f"tools.0.custom.name: {PATTERN}", "call_names"),
    ("tools.187.custom.name: String should have at most 64 characters", "call_names"),
    (f"Invalid 'tools[16].function.name': {LONG.format(64)}", "call_names"),
    ("Tool name too long, please check: mcp__stata-mcp__stata_run", "call_names"),
    ("工具名称过长，请检查: mcp__x", "call_names"),
    (f"Invalid 'tools[0].function.description': {LONG.format(1024)}", "descriptions:1024"),
    ("The text field in the ContentBlock object at messages.1 is blank.", "empty_content"),
    ("ValidationException: messages: text content blocks must be non-empty", "empty_content"),
    ("invalid message content type: <nil>", "null_content"),
    ("InvalidParameter: The content field is a required field", "null_content"),
    ('No endpoints found that support tool use. Try disabling "question".', "tools"),
    ("registry.ollama.ai/library/gemma3:4b does not support tools", "tools"),
    ("tools param requires --jinja flag", "tools"),
    ("1 validation error for Request\nbody -> tools\n  extra fields not permitted", "tools"),
    (
        'Invalid JSON payload received. Unknown name "additionalProperties" at '
        "'tools[0].function_declarations[0].parameters': Cannot find field.",
        "json_schema",
    ),
    ("body -> temperature\n  Extra inputs are not permitted (type=extra_forbidden)", "temperature"),
    ("Developer instruction is not enabled for models/gemma-3-27b-it", "system_role"),
    ("System role not supported", "system_role"),
    ("Value error, role 'system' is not supported by this template", "system_role"),
    ("tools[0].function_declarations[80].parameters: only allowed for OBJECT type", "json_schema"),
    ("tools.80.custom.input_schema: input_schema does not support oneOf", "json_schema"),
    ("schema at top-level requires unspecified property 'type'", "json_schema"),
    ("GenerateContentRequest.tools[6].parameters.enum[3]: cannot be empty", "json_schema"),
    (f"Error: Jinja Exception: {JINJA}", "user_after_tool"),
    ("Unexpected role 'user' after role 'tool'", "user_after_tool"),
    ("deepseek-reasoner does not support successive user messages", "user_after_tool"),
    ({"message": "The response was filtered.", "code": "content_filter"}, None),
    ("model 'x' not found, try pulling it first", None),
    ("This model's maximum context length is 4096 tokens, your messages are 5000 tokens.", None),
    ("Internal server error", None),
]


@pytest.mark.parametrize(("body", "word"), REFUSALS)
def test_a_refusal_is_read(body: Any, word: str | None) -> None:
    assert find_change(ServerError(body), SENT, ServerRules()) == word


def test_other_failures_change_nothing() -> None:
    for status in (401, 402, 429):
        assert find_change(ServerError("'temperature'", status), SENT, ServerRules()) is None
    assert find_change(ConnectionError("images"), SENT, ServerRules()) is None


TOOL = {
    "type": "function",
    "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}},
}
CALL: Any = {"name": "a.b", "args": {}, "id": "functions.a.b:0", "type": "tool_call"}
HISTORY = [
    SystemMessage("You work."),
    HumanMessage("Hello."),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("", tool_call_id=CALL["id"]),
    HumanMessage("What next?"),
]


async def ask(server: ScriptedServer, **settings: Any) -> ModelSettings:
    """Send one request; return the endpoint."""
    server.strict = False
    endpoint = ModelSettings(model="m", base_url=server.base_url, **settings)
    model = await build_model(endpoint, Path())
    await ask_endpoint(model, endpoint, ModelRequest("main", HISTORY, [TOOL], "auto", quiet=True))
    return endpoint


async def test_a_server_may_refuse_several_things_in_a_row(
    server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    words = ["temperature", "call_ids", "user_after_tool", "null_content", "stream_options"]
    server.script(
        fail(400, message="'temperature' is not supported."),
        fail(400, message="Tool call id was x but must be a-z."),
        fail(422, message="Unexpected role 'user' after role 'tool'"),
        fail(400, message="content must not be null"),
        fail(400, message="Unknown parameter: 'stream_options'."),
        text("Done."),
        text("Again."),
    )
    endpoint = await ask(server, temperature=0.5)
    await ask(server, temperature=0.5)
    assert list(learned_words(endpoint)) == words
    first, last = server.requests[0].body, server.requests[-1].body
    assert first["messages"][2]["content"] is None
    assert last == server.requests[-2].body
    assert "temperature" not in last
    assert [m["role"] for m in last["messages"][-3:]] == ["tool", "assistant", "user"]
    assert last["messages"][2]["content"] == ""
    assert len(last["messages"][2]["tool_calls"][0]["id"]) == 9
    [warning] = [r.message for r in caplog.records if r.levelname == "WARNING"]
    assert f"refuses = {json.dumps(words)}" in warning


async def test_a_refusal_that_remains_is_raised_and_not_remembered(server: ScriptedServer) -> None:
    server.always(fail(400, message="Unexpected role 'user' after role 'tool'"))
    with pytest.raises(Exception, match="Unexpected role"):
        await ask(server)
    assert 1 < len(server.requests) <= 1 + MAX_CHANGES
    assert learned_words(ModelSettings(model="m", base_url=server.base_url)) == ()


async def test_both_names_of_the_limit_are_tried(server: ScriptedServer) -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server.script(fail(400, message=message), text("Done."))
    await ask(server, max_tokens=500)
    sent = [{k: v for k, v in r.body.items() if "max_" in k} for r in server.requests]
    assert sent == [{"max_tokens": 500}, {"max_completion_tokens": 500}]


async def test_the_rest_of_the_window_is_not_remembered(server: ScriptedServer) -> None:
    message = "input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000"
    server.script(fail(400, message=message), text("Done."), text("Done."))
    await ask(server, max_tokens=20_000)
    await ask(server, max_tokens=20_000)
    assert [r.body["max_tokens"] for r in server.requests] == [20_000, 11_941, 20_000]


async def test_what_a_package_sends_is_dropped_or_lowered_too(server: ScriptedServer) -> None:
    options: dict[str, Any] = {"model": "m", "base_url": server.base_url, "api_key": "x"}
    options |= {"temperature": 0.5, "max_tokens": 9_000, "stream_usage": True, "max_retries": 0}
    model = ChatOpenAI(**options)
    endpoint = ModelSettings(model="m", base_url=server.base_url)
    request = ModelRequest("main", HISTORY, [TOOL], "auto", quiet=True)
    server.script(
        fail(400, message="Unsupported parameter: 'temperature'"),
        fail(400, message="max_completion_tokens must be less than or equal to 8192"),
        fail(400, message="Extra inputs are not permitted: stream_options"),
        text("Done."),
    )
    await ask_endpoint(model, endpoint, request, is_caller_model=True)
    last = server.requests[-1].body
    assert not {"temperature", "stream_options"} & last.keys()
    assert last["max_completion_tokens"] == 8_192


async def test_calls_of_other_models_are_marked_where_signatures_are_required(
    server: ScriptedServer,
) -> None:
    message = "Function call is missing a thought_signature in functionCall parts."
    server.script(fail(400, message=message), text("Done."))
    await ask(server)
    [call] = server.requests[-1].messages[2]["tool_calls"]
    assert (
        call["extra_content"]["google"]["thought_signature"] == "skip_thought_signature_validator"
    )
    assert not find_rules(ModelSettings(model="google/gemini-3-pro")).unsigned_calls


async def test_the_setting_avoids_the_refusal(server: ScriptedServer) -> None:
    server.script(text("Done."))
    await ask(server, refuses=("user_after_tool", "stream_options", "tool:bash"))
    [request] = server.requests
    assert [m["role"] for m in request.messages[-2:]] == ["assistant", "user"]
    assert "stream_options" not in request.body
    assert not request.tools


def test_names_and_ids_are_mapped_alike_wherever_they_occur() -> None:
    rules = ServerRules().refusing("call_ids", "call_names")
    assert valid_name("bash", rules) == "bash"
    assert valid_name("bash-x", ServerRules()) == "bash-x"
    assert valid_id("functions.bash:0", rules) == valid_id("functions.bash:0", rules)
    assert valid_id("abcDEF123", rules) == "abcDEF123"
    assert len({valid_id(f"call_{n}", rules) for n in range(1000)}) == 1000


def test_known_servers_need_no_refusal() -> None:
    def rules(model: str, base_url: str | None = None) -> ServerRules:
        return find_rules(ModelSettings(model=model, base_url=base_url))

    assert not rules("m", "https://api.mistral.ai/v1").user_after_tool
    assert rules("m", "https://mistral.ai.example/v1").user_after_tool
    assert not rules("google/gemini-3-pro", "https://openrouter.ai/api/v1").json_schema
    assert rules("qwen3", "http://localhost:11434/v1") == ServerRules()
    assert not find_rules(ModelSettings(model="m", vision=False)).images
