"""The meaning of failed model calls, as tables; the errors are those of the real client.

The bodies are as the products send them, or as users have reported them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from manus.config.model_settings import ModelSettings
from manus.models.chat_models import build_model
from manus.models.errors import explain
from manus.models.retry import server_wait
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from tests.server import Cut, Raw, Scripted, ScriptedServer, cut, fail, hang, raw

pytestmark = pytest.mark.asyncio(loop_scope="module")
HTML = b"<html><body><h1>Bad gateway</h1></body></html>"
THERE = ModelSettings(model="scripted", base_url="there")


@pytest.fixture(scope="module")
def shared() -> Iterator[ScriptedServer]:
    """Provide one server, with one client, for all of these tests."""
    with ScriptedServer() as server:
        yield server
        server.verify()


async def failure(server: ScriptedServer, reply: Scripted, timeout: float = 30.0) -> Exception:
    """Return the exception that the real client raises."""
    server.script(reply)
    return await failure_at(server.base_url, timeout)


async def failure_at(address: str, timeout: float = 30.0) -> Exception:
    settings = ModelSettings(model="scripted", base_url=address, timeout=timeout)
    model = await build_model(settings, Path())
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one it is, is the question
        await model.ainvoke([HumanMessage("Hi.")])
    return caught.value


Kind = type[ModelError]
TABLE: list[tuple[Scripted, Kind, str]] = [
    (fail(401), ModelRefusedError, "refused the key (401)"),
    (fail(403), ModelRefusedError, "there refused the key (403)"),
    (fail(404), ModelRefusedError, "does not have the model `scripted`"),
    (fail(400, message="Bad thing."), ModelRefusedError, "refused the request (400): Bad thing."),
    (fail(429, code="insufficient_quota"), ModelRefusedError, "no credit left: You exceeded"),
    (fail(429), ModelUnavailableError, "rate limit exceeded (429)"),
    (fail(500, message="Sorry."), ModelUnavailableError, "failed (500): Sorry."),
    (fail(503), ModelUnavailableError, "failed (503)"),
    (fail(400, code="context_length_exceeded"), ContextOverflowError, "window of `scripted`"),
    (fail(413, message="maximum context is 9"), ContextOverflowError, "maximum context is 9"),
    (raw(HTML, 502), ModelUnavailableError, "failed (502)"),
    (raw(HTML, 200), ModelRefusedError, "did not send a chat reply"),
    (raw(b"", 200, "application/json"), ModelUnavailableError, "before the reply was complete"),
    (raw(b'{"choices": []}', 200, "application/json"), ModelUnavailableError, "without choices"),
    (raw(b"[1]", 200, "application/json"), ModelRefusedError, "did not send a chat reply"),
    (cut(0), ModelUnavailableError, "there closed the connection: Server disconnected"),
    (cut(1), ModelUnavailableError, "there closed the connection: "),
    (hang(), ModelUnavailableError, "there timed out"),
]


def respond(status: int, body: Any) -> Raw:
    """Return a response with this body; a text is sent unchanged."""
    if isinstance(body, str):
        return raw(body.encode(), status, "text/html" if body.startswith("<") else "text/plain")
    return raw(json.dumps(body).encode(), status, "application/json")


def error(message: Any, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


SPENT = "TPM: Limit 30000, Requested 53000. The input or output tokens must be reduced in order"
LISTED = {"raw": '{"message": "the maximum context length is 4096"}'}
VLLM = {"object": "error", "message": "This model's maximum context length is 4096", "code": 400}
TOO_LARGE: dict[str, tuple[int, Any]] = {
    "OpenAI": (400, error("Too long.", code="context_length_exceeded")),
    "OpenAI, for a minute": (429, error(SPENT, code="rate_limit_exceeded", type="tokens")),
    "vLLM": (400, VLLM),
    "vLLM, a prompt": (400, error("The decoder prompt is longer than the maximum model length.")),
    "LM Studio, a prompt": (400, {"error": "Cannot truncate prompt with n_keep (5) >= n_ctx (4)"}),
    "xAI": (400, {"code": "Invalid argument", "error": "maximum prompt length is 131072 but"}),
    "Qwen": (400, error("InternalError: Range of input length should be [1, 30720]")),
    "Moonshot": (400, error("Your request exceeded model token limit: 8192")),
    "nginx": (413, "<html><body><h1>413 Request Entity Too Large</h1></body></html>"),
    "Zhipu": (400, error("Prompt 超长", code="1261")),
    "OpenRouter": (400, error("Provider returned error", code=400, metadata=LISTED)),
}


NO_MODEL = error("model 'x' not found, try pulling it first")
NO_KEY = {"code": "Invalid argument", "error": "Incorrect API key provided: xx."}
GOOGLES = [error("API key not valid. Please pass a valid API key.", code=400)]
NO_CREDIT = error("Insufficient Balance", code="invalid_request_error")
EXTRA = {"object": "error", "message": {"detail": [{"msg": "Extra inputs"}]}}
NO_CALL = error("Failed to call a function.", code="tool_use_failed", failed_generation="<f")
UNEXPECTED = {"error": "Unexpected endpoint or method. (POST /chat/completions)"}
REFUSED = {
    "LM Studio, an address without its end": (200, UNEXPECTED, "check MANUS_BASE_URL"),
    "Ollama has no such model": (404, NO_MODEL, "pulling it first; check MANUS_MODEL and"),
    "xAI, a key": (400, NO_KEY, "refused the key (400)"),
    "a key in Google's list": (400, GOOGLES, "refused the key (400)"),
    "DeepSeek, no credit": (402, NO_CREDIT, "no credit left: Insufficient Balance"),
    "no access": (403, error("No access to this model."), "this model; check MANUS_API_KEY"),
    "a proxy": (407, "<html>Sign in.</html>", "refused the request (407)"),
    "FastAPI, in words": (404, {"detail": "Not Found"}, "(404): Not Found;"),
    "Mistral": (422, EXTRA, "Extra inputs"),
}
SAID: list[tuple[Scripted, Kind, str]] = [
    *TABLE,
    *((respond(*case), ContextOverflowError, "") for case in TOO_LARGE.values()),
    *((respond(s, body), ModelRefusedError, words) for s, body, words in REFUSED.values()),
    (respond(500, "Out of memory"), ModelUnavailableError, "failed (500): Out of memory"),
    (respond(400, NO_CALL), ModelUnavailableError, "failed (400): Failed to call"),  # Groq
]


@pytest.mark.parametrize(("reply", "kind", "words"), SAID)
async def test_sentences(shared: ScriptedServer, reply: Scripted, kind: Kind, words: str) -> None:
    patience = 0.3 if isinstance(reply, Cut) and reply.hangs else 30.0
    error = explain(await failure(shared, reply, patience), THERE)
    assert type(error) is kind
    assert words in str(error)
    assert "\n" not in str(error)


NOWHERE: dict[str, tuple[Kind, str]] = {
    "http://127.0.0.1:9/v1": (ModelUnavailableError, "cannot be reached"),
    "http://no.such.host.invalid/v1": (ModelUnavailableError, "cannot be reached"),
    "localhost:8000": (ModelRefusedError, "the address is not valid"),
    "nonsense": (ModelRefusedError, "the address is not valid"),
}


async def test_unreachable_servers_and_the_retry_delay(
    shared: ScriptedServer, subtests: pytest.Subtests
) -> None:
    for address, (kind, words) in NOWHERE.items():
        with subtests.test(address=address, kind=kind):
            settings = ModelSettings(model="scripted", base_url=address)
            error = explain(await failure_at(address), settings)
            assert type(error) is kind
            assert words in str(error)
            assert "MANUS_BASE_URL" in str(error)
    for header, wait in (("2", 2.0), ("soon", 0.0), ("", 0.0)):
        with subtests.test(header=header, wait=wait):
            raised = await failure(shared, fail(429, headers={"Retry-After": header}))
            assert server_wait(raised) == wait
