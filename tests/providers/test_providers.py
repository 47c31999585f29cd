"""Providers' real clients with servers of their protocols on loopback; and their errors."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from tests.helpers.agent import assert_paired
from tests.providers.conftest import KEY, ProvidedAgent, address
from tests.providers.turns import Refusal, Turn

WRITE = ("append", {"path": "a.txt", "line": "Grüße, 世界"})
MORE = ("append", {"path": "b.txt", "line": "two"})


@pytest.fixture(params=[False, True], ids=["unwatched", "watched"])
def either(agent: ProvidedAgent, request: pytest.FixtureRequest) -> ProvidedAgent:
    agent.streamed = request.param
    return agent


async def test_a_run_with_calls_to_its_end(either: ProvidedAgent) -> None:
    parts = await either.watch(
        Turn(text="I write it now.", calls=(WRITE, MORE)), Turn(text="Done.", cached=80)
    )
    outcome = await either.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "Done.")
    assert either.lines("a.txt") == ["Grüße, 世界"]
    assert either.lines("b.txt") == ["two"]
    history = await either.messages()
    assert_paired(history)
    assert [m.text for m in history if isinstance(m, AIMessage)] == ["I write it now.", "Done."]
    assert all(isinstance(m.content, str) for m in history)
    assert "Appended to a.txt." in either.server.requests[1].raw.decode()
    usage = outcome.usage
    extra = 80 if either.provider in ("anthropic", "bedrock") else 0
    assert usage["input_tokens"] == 200 + extra, "Anthropic does not count cached tokens as input"
    cached = 0 if either.provider == "ollama" else 80  # not reported
    assert (usage["output_tokens"], usage["cached_tokens"]) == (40, cached)
    assert not usage.get("estimated")
    if either.streamed:
        _arrived_in_chunks(either.provider, parts)
    _assert_key(either.provider, either.server.requests[0].headers)


def _arrived_in_chunks(provider: str, parts: list[tuple[str, Any]]) -> None:
    chunks = [data[0] for mode, data in parts if mode == "messages"]
    pieces = [chunk for chunk in chunks if isinstance(chunk, AIMessageChunk)]
    texts = [chunk.text for chunk in pieces if chunk.text]
    assert "".join(texts) == "I write it now.Done."
    assert len(texts) > 2
    calls = [call for chunk in pieces for call in chunk.tool_call_chunks]
    assert {call["name"] for call in calls if call["name"]} == {"append"}
    if provider in ("anthropic", "bedrock"):  # otherwise a short call arrives in one chunk
        assert len(calls) > 3


def _assert_key(provider: str, headers: Mapping[str, str]) -> None:
    """Assert that the key is sent in the provider's way."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    if provider == "bedrock":
        assert bearer.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        return
    names = {"ollama": "", "anthropic": "x-api-key", "google": "x-goog-api-key", "azure": "api-key"}
    # a bearer token in some versions of Anthropic's client
    assert (headers.get(names[provider]) or bearer) == KEY


async def test_truncated_calls_are_not_executed(agent: ProvidedAgent) -> None:
    """It goes back with an object as arguments; complete calls go back unchanged."""
    poll: tuple[str, Any] = ("poll", {})
    expected = ("append", {"file": "c.txt", "line": "one"})
    await agent.ask(
        Turn(calls=(WRITE, MORE), at_limit=True),
        Turn(calls=(poll,), at_limit=True),
        Turn(calls=(poll, expected, MORE)),
        Turn(text="Done."),
    )
    outcome = await agent.outcome()
    assert outcome.stop_reason == "answered"
    # Azure's arguments are known as they were sent: the first call was complete
    assert agent.lines("a.txt") == (["Grüße, 世界"] if agent.provider == "azure" else [])
    assert agent.lines("b.txt") == ["two"], "the model was informed, and called it again"
    assert agent.lines("c.txt") == ["one"]
    assert_paired(await agent.messages())
    assert "length limit" in agent.server.requests[1].raw.decode()
    assert (await agent.observations())[3] == "1 %", "the first poll was not executed"
    calls = sent_calls(agent.provider, agent.server.requests[-1].body)
    assert [name for name, _ in calls] == [*["append"] * 2, *["poll"] * 2, *["append"] * 2]
    assert all(isinstance(arguments, dict) for _, arguments in calls)
    assert list(calls[1][1]) == ["malformed_arguments"]
    assert calls[4] == expected


async def test_a_stream_that_ends_without_a_reason_is_not_a_call(agent: ProvidedAgent) -> None:
    agent.streamed = True
    cut = Turn(calls=(MORE,), silent=True)
    outcome = await agent.ask(cut, cut, Turn(text="Done."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Done.")
    assert agent.lines("b.txt") == []
    # for these such a stream is an outage: there is nothing to report to the model
    is_reported = "Not executed" in agent.server.requests[2].raw.decode()
    assert is_reported is (agent.provider not in ("azure", "bedrock"))


def sent_calls(provider: str, body: Any) -> list[tuple[str, Any]]:
    """Return name and arguments of each call in a request."""
    if provider == "ollama":
        functions = [c["function"] for m in body["messages"] for c in m.get("tool_calls") or ()]
        return [(f["name"], f["arguments"]) for f in functions]
    if provider == "azure":
        functions = [c["function"] for m in body["messages"] for c in m.get("tool_calls") or ()]
        return [(f["name"], json.loads(f["arguments"])) for f in functions]
    if provider == "google":
        parts = [p for content in body["contents"] for p in content["parts"]]
        function_calls = [p["functionCall"] for p in parts if "functionCall" in p]
        return [(call["name"], call["args"]) for call in function_calls]
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    if provider == "bedrock":
        uses = [b["toolUse"] for b in blocks if "toolUse" in b]
    else:
        uses = [b for b in blocks if b["type"] == "tool_use"]
    return [(use["name"], use["input"]) for use in uses]


@pytest.mark.parametrize("provider", ["anthropic", "azure", "bedrock", "google"])
async def test_a_call_is_required_and_without_tools_it_is_in_words(agent: ProvidedAgent) -> None:
    """Two providers reject calls in a request that offers no tools."""
    await agent.ask(Turn(calls=(WRITE,)), tool_choice="required", max_steps=1)
    body = agent.server.requests[0].body
    config = body.get("toolConfig") or {}
    choice, right = {
        "anthropic": (body.get("tool_choice"), {"type": "any"}),
        "azure": (body.get("tool_choice"), "required"),
        "bedrock": (config.get("toolChoice"), {"any": {}}),
        "google": (config.get("functionCallingConfig", {}).get("mode"), "ANY"),
    }[agent.provider]
    assert choice == right
    outcome = await agent.ask(Turn(text="As I said."), tool_choice="none")
    assert outcome.output == "As I said."
    body = agent.server.requests[-1].body
    assert not body.get("tools")
    assert not body.get("toolConfig")
    if agent.provider in ("anthropic", "bedrock"):
        assert sent_calls(agent.provider, body) == []
        assert "<tool_call>" in agent.server.requests[-1].raw.decode()


STATUSES = (401, 404, 429, 500, 503)
KINDS = {
    "anthropic": "authentication_error not_found_error rate_limit_error api_error overloaded_error",
    "google": "UNAUTHENTICATED NOT_FOUND RESOURCE_EXHAUSTED INTERNAL UNAVAILABLE",
    "bedrock": "UnrecognizedClientException ResourceNotFoundException ThrottlingException"
    " InternalServerException ServiceUnavailableException",
    "azure": "error error error error error",
    "ollama": "error error error error error",
}
CHECK = {
    "anthropic": "check MANUS_API_KEY or ANTHROPIC_API_KEY",
    "google": "check MANUS_API_KEY or GOOGLE_API_KEY",
    "bedrock": "check the AWS credentials",
    "azure": "check MANUS_API_KEY",
    "ollama": "check MANUS_API_KEY",
}


def build_refusal(provider: str, status: int, **options: Any) -> Refusal:
    return Refusal(status, KINDS[provider].split()[STATUSES.index(status)], **options)


def waits(parts: list[tuple[str, Any]]) -> list[float]:
    return [d["wait"] for mode, d in parts if mode == "custom" and d["type"] == "retry"]


async def test_permanent_errors_are_not_retried(
    agent: ProvidedAgent, subtests: pytest.Subtests
) -> None:
    for status, words in ((401, CHECK[agent.provider]), (404, "check MANUS_MODEL")):
        with subtests.test(status=status, words=words):
            parts = await agent.watch(build_refusal(agent.provider, status), thread=str(status))
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


async def test_temporary_errors_are_retried(
    agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the delay that a provider asks for, or after one of ours; also in mid-stream."""
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.01)
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.2s"}
    refusal_options: dict[str, Any] = {"headers": {"Retry-After": "0.2"}}
    if agent.provider == "google":
        refusal_options = {
            "message": "Please check your plan and billing details.",
            "details": (delay,),
        }
    status = 429 if agent.provider == "bedrock" else 503
    agent.streamed = True
    parts = await agent.watch(
        build_refusal(agent.provider, 429, **refusal_options),
        build_refusal(agent.provider, 500),
        build_refusal(agent.provider, status, message="Overloaded.", mid_stream=True),
        Turn(text="All of it."),
    )
    requested_delay, *our_delays = waits(parts)
    assert 0.2 <= requested_delay <= 0.22
    assert len(our_delays) == 2
    assert max(our_delays) < 0.1
    outcome = await agent.outcome()
    assert (outcome.stop_reason, outcome.output) == ("answered", "All of it.")
    assert len({request.raw for request in agent.server.requests}) == 1


@pytest.mark.parametrize("provider", ["google", "azure"])
async def test_a_delay_of_an_hour_is_not_waited_for(agent: ProvidedAgent) -> None:
    delay = {"retryDelay": "3600s"}
    refusal = build_refusal(agent.provider, 429, headers={"Retry-After": "3600"}, details=(delay,))
    parts = await agent.watch(refusal)
    assert waits(parts) == []
    assert "(429)" in (await agent.outcome()).output


EXCEEDS = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
TOO_LARGE = {
    "anthropic": Refusal(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
    "google": Refusal(400, "INVALID_ARGUMENT", EXCEEDS),
    "bedrock": Refusal(400, "ValidationException", "Input is too long for requested model."),
    "azure": Refusal(400, message="This model's maximum context length is 8000 tokens."),
    "ollama": Refusal(400, message="the input prompt is too long"),
}


async def test_an_unreachable_server(agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANUS_RETRY_FOR", "0.2")
    monkeypatch.setattr("manus.models.retry.FIRST_WAIT", 0.05)
    monkeypatch.setenv("MANUS_BASE_URL", "http://127.0.0.1:9")
    parts = await agent.watch()
    assert waits(parts)
    assert "cannot be reached" in (await agent.outcome()).output


# unique settings, so that a new client looks up its credentials
@pytest.mark.environ(MANUS_TIMEOUT="71")
@pytest.mark.parametrize("provider", ["anthropic", "azure", "bedrock", "google"])
async def test_no_key(agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MANUS_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    outcome = await agent.ask()
    assert outcome.stop_reason == "error"
    words = {"azure": "needs its key", "bedrock": "requires an API key"}
    assert words.get(agent.provider, "it needs a key: MANUS_API_KEY or") in outcome.output
    assert agent.server.requests == []
