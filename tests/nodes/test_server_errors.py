"""What compatible servers say when they refuse, in the form in which each of them says it.

The bodies are as the products send them, or as users have reported them.
"""

import json
from typing import Any

import pytest

from manus.models.errors import explain
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from manus.state.model_settings import ModelSettings
from tests.helpers.failure import failure_of
from tests.server import Raw, ScriptedServer, raw

BLOCKED = (
    "<!DOCTYPE html><html><head><title>Attention</title><style>p {color: red}</style>"
    "<script>track()</script></head><body><h1>You&nbsp;are blocked</h1></body></html>"
)


def sent(status: int, body: Any) -> Raw:
    """An answer of this body; a text is sent as it is."""
    if isinstance(body, str):
        return raw(body.encode(), status, "text/html" if body.startswith("<") else "text/plain")
    return raw(json.dumps(body).encode(), status, "application/json")


def error(message: Any, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


async def failure(server: ScriptedServer, reply: Raw, streamed: bool) -> Exception:
    """What the real client raises."""
    server.script(reply)
    settings = ModelSettings(model="m", base_url=server.base_url)
    return await failure_of(settings, streamed=streamed)


def explained(found: Exception) -> ModelError:
    return explain(found, ModelSettings(model="m", base_url="there"))


SPENT = "TPM: Limit 30000, Requested 53000. The input or output tokens must be reduced in order"
LISTED = {"raw": '{"message": "the maximum context length is 4096"}'}
VLLM = {"object": "error", "message": "This model's maximum context length is 4096", "code": 400}
TOO_LARGE: dict[str, tuple[int, Any]] = {
    "OpenAI": (400, error("Too long.", code="context_length_exceeded")),
    "OpenAI, for a minute": (429, error(SPENT, code="rate_limit_exceeded", type="tokens")),
    "vLLM": (400, VLLM),
    "vLLM, a prompt": (400, error("The decoder prompt is longer than the maximum model length.")),
    "vLLM, with room for the reply": (
        400,
        error("'max_tokens' is too large: 2000. This model's maximum context length is 8192"),
    ),
    "llama.cpp": (500, error("the request exceeds the available context size. try increasing")),
    "LM Studio": (400, {"error": "The model is loaded with context length of only 4096 tokens"}),
    "LM Studio, a prompt": (400, {"error": "Cannot truncate prompt with n_keep (5) >= n_ctx (4)"}),
    "xAI": (400, {"code": "Invalid argument", "error": "maximum prompt length is 131072 but"}),
    "Qwen": (400, error("InternalError: Range of input length should be [1, 30720]")),
    "Moonshot": (400, error("Your request exceeded model token limit: 8192")),
    "Mistral": (422, error("Prompt is too large for model with 32768 maximum context length")),
    "Groq": (413, error("Request too large on tokens per minute: Limit 6000, Requested 7000")),
    "nginx": (413, "<html><body><h1>413 Request Entity Too Large</h1></body></html>"),
    "OpenRouter": (400, error("Provider returned error", code=400, metadata=LISTED)),
    "TGI": (422, {"error": "Input validation error: `inputs` must have less than 1000 tokens."}),
    "Databricks": (400, error("Exceeded maximum input tokens: 5000 > 4096")),
    "Doubao": (400, error("Total tokens of image and text exceed max message tokens.")),
    "LiteLLM": (400, error("litellm.ContextWindowExceededError: too long")),
    "Zhipu": (400, error("Prompt 超长", code="1261")),
    "Hunyuan": (400, error("messages 长度超过限制")),
    "ERNIE": (400, error("prompt tokens too long")),
    "StepFun": (400, error("prompt tokens exceed model max tokens")),
    "MLX": (400, error("Prompt length 5000 exceeds the maximum of 4096")),
}


@pytest.mark.parametrize(("status", "body"), TOO_LARGE.values(), ids=TOO_LARGE)
async def test_a_request_that_is_too_large(server: ScriptedServer, status: int, body: Any) -> None:
    found = explained(await failure(server, sent(status, body), True))
    assert type(found) is ContextOverflowError


NO_MODEL = error("model 'x' not found, try pulling it first")
NONE_LOADED = error("No models loaded.", code="model_not_found")
NO_KEY = {"code": "Invalid argument", "error": "Incorrect API key provided: xx."}
GOOGLES = [error("API key not valid. Please pass a valid API key.", code=400)]
NO_CREDIT = error("Insufficient Balance", code="invalid_request_error")
FLAGGED = error("Your input was flagged", code=403, metadata={"reasons": ["violence"]})
EXTRA = {"object": "error", "message": {"detail": [{"msg": "Extra inputs"}]}}
NO_CALL = error("Failed to call a function.", code="tool_use_failed", failed_generation="<f")
REFUSED: dict[str, tuple[int, Any, str]] = {
    "Ollama has no such model": (404, NO_MODEL, "pulling it first; check MANUS_MODEL and"),
    "LM Studio has loaded none": (404, NONE_LOADED, "(404): No models loaded; check MANUS_MODEL"),
    "xAI, a key": (400, NO_KEY, "refused the key (400)"),
    "a key in Google's list": (400, GOOGLES, "refused the key (400)"),
    "DeepSeek, no credit": (402, NO_CREDIT, "no credit left: Insufficient Balance"),
    "OpenRouter, flagged": (403, FLAGGED, "the request (403): Your input was flagged"),
    "no access": (403, error("No access to this model."), "this model; check MANUS_API_KEY"),
    "a firewall": (403, BLOCKED, "a page came back (403); check whether a proxy"),
    "a proxy": (407, "<html>Sign in.</html>", "refused the request (407)"),
    "FastAPI": (422, {"detail": [{"msg": "field required"}]}, "field required"),
    "FastAPI, in words": (404, {"detail": "Not Found"}, "(404): Not Found;"),
    "Mistral": (422, EXTRA, "Extra inputs"),
}
FAILED: dict[str, tuple[int, Any, str]] = {
    "plain text": (500, "Out of memory", "failed (500): Out of memory"),
    "overloaded": (529, error("Overloaded"), "failed (529): Overloaded"),
    "Groq, a call that it cannot read": (400, NO_CALL, "failed (400): Failed to call"),
}


@pytest.mark.parametrize("name", [*REFUSED, *FAILED])
async def test_the_sentence(server: ScriptedServer, name: str) -> None:
    status, body, words = {**REFUSED, **FAILED}[name]
    found = explained(await failure(server, sent(status, body), True))
    assert type(found) is (ModelRefusedError if name in REFUSED else ModelUnavailableError)
    assert words in str(found)
    assert "\n" not in str(found)


async def test_an_address_without_its_end(server: ScriptedServer) -> None:
    """LM Studio answers with status 200 where there is nothing."""
    body = {"error": "Unexpected endpoint or method. (POST /chat/completions)"}
    found = explained(await failure(server, sent(200, body), False))
    assert type(found) is ModelRefusedError
    assert "(Unexpected endpoint or method" in str(found)
    assert "check MANUS_BASE_URL" in str(found)
