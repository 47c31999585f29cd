"""What providers' real clients raise becomes our sentence, with a second try where it may help."""

from typing import Any

import pytest

from tests.providers.conftest import KEY, ProvidedAgent, address
from tests.providers.turns import Refusal, Turn

STATUSES = (401, 404, 429, 500, 503)
KINDS = {
    "anthropic": "authentication_error not_found_error rate_limit_error api_error overloaded_error",
    "google": "UNAUTHENTICATED NOT_FOUND RESOURCE_EXHAUSTED INTERNAL UNAVAILABLE",
    "bedrock": "UnrecognizedClientException ResourceNotFoundException ThrottlingException"
    " InternalServerException ServiceUnavailableException",
    "azure": "error error error error error",
}
CHECK = {
    "anthropic": "check MANUS_API_KEY or ANTHROPIC_API_KEY",
    "google": "check MANUS_API_KEY or GOOGLE_API_KEY",
    "bedrock": "check the AWS credentials",
    "azure": "check MANUS_API_KEY",
}


def refused(provider: str, status: int, **more: Any) -> Refusal:
    return Refusal(status, KINDS[provider].split()[STATUSES.index(status)], **more)


def waits(parts: list[tuple[str, Any]]) -> list[float]:
    return [d["wait"] for mode, d in parts if mode == "custom" and d["type"] == "retry"]


async def test_what_cannot_pass_is_not_tried_again(agent: ProvidedAgent) -> None:
    for status, words in ((401, CHECK[agent.provider]), (404, "check MANUS_MODEL")):
        parts = await agent.watch(refused(agent.provider, status), thread=str(status))
        outcome = await agent.outcome(str(status))
        assert outcome.stop_reason == "error"
        assert waits(parts) == []
        assert words in outcome.output
        assert address(agent.server) in outcome.output
        assert "\n" not in outcome.output
        assert KEY not in outcome.output
    outcome = await agent.ask(TOO_LARGE[agent.provider], thread="large")
    assert outcome.stop_reason == "error"
    assert "the context window" in outcome.output
    assert len(agent.server.requests) == 3


async def test_what_may_pass_we_try_again(
    agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the wait that a provider asks for, else after one of ours; also in mid-stream."""
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.01)
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.2s"}
    said: dict[str, Any] = {"headers": {"Retry-After": "0.2"}}
    if agent.provider == "google":
        said = {"message": "Please check your plan and billing details.", "details": (delay,)}
    status = 429 if agent.provider == "bedrock" else 503
    agent.streamed = True
    parts = await agent.watch(
        refused(agent.provider, 429, **said),
        refused(agent.provider, 500),
        refused(agent.provider, status, message="Overloaded.", mid_stream=True),
        Turn(text="All of it."),
    )
    asked, *ours = waits(parts)
    assert 0.2 <= asked <= 0.22
    assert len(ours) == 2
    assert max(ours) < 0.1
    outcome = await agent.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "All of it.")
    assert len({request.raw for request in agent.server.requests}) == 1


@pytest.mark.parametrize("provider", ["google", "azure"])
async def test_a_wait_of_an_hour_is_not(agent: ProvidedAgent) -> None:
    delay = {"retryDelay": "3600s"}
    refusal = refused(agent.provider, 429, headers={"Retry-After": "3600"}, details=(delay,))
    parts = await agent.watch(refusal)
    assert waits(parts) == []
    assert "(429)" in (await agent.outcome()).output


EXCEEDS = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
TOO_LARGE = {
    "anthropic": Refusal(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
    "google": Refusal(400, "INVALID_ARGUMENT", EXCEEDS),
    "bedrock": Refusal(400, "ValidationException", "Input is too long for requested model."),
    "azure": Refusal(400, message="This model's maximum context length is 8000 tokens."),
}


async def test_nobody_there(agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANUS_RETRY_FOR", "0.2")
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.05)
    monkeypatch.setenv("MANUS_BASE_URL", "http://127.0.0.1:9")
    parts = await agent.watch()
    assert waits(parts)
    assert "cannot be reached" in (await agent.outcome()).output


@pytest.mark.usefixtures("own_client")
async def test_no_key(agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MANUS_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    outcome = await agent.ask()
    assert outcome.stop_reason == "error"
    words = {"azure": "needs its key", "bedrock": "cannot be asked without a key"}
    assert words.get(agent.provider, "it needs a key: MANUS_API_KEY or") in outcome.output
    assert agent.server.requests == []
