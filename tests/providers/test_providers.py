"""Providers' real clients against servers of their protocols on loopback; no model is behind."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from tests.helpers.agent import assert_paired
from tests.providers.conftest import KEY, ProvidedAgent
from tests.providers.turns import Turn

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
    assert (usage["output_tokens"], usage["cached_tokens"]) == (40, 80)
    assert not usage.get("estimated")
    if either.streamed:
        _came_in_pieces(either.provider, parts)
    _has_the_key(either.provider, either.server.requests[0].headers)


def _came_in_pieces(provider: str, parts: list[tuple[str, Any]]) -> None:
    chunks = [data[0] for mode, data in parts if mode == "messages"]
    pieces = [chunk for chunk in chunks if isinstance(chunk, AIMessageChunk)]
    said = [chunk.text for chunk in pieces if chunk.text]
    assert "".join(said) == "I write it now.Done."
    assert len(said) > 2
    calls = [call for chunk in pieces for call in chunk.tool_call_chunks]
    assert {call["name"] for call in calls if call["name"]} == {"append"}
    if provider in ("anthropic", "bedrock"):  # else a short call comes as a whole
        assert len(calls) > 3


def _has_the_key(provider: str, headers: Mapping[str, str]) -> None:
    """It is sent in the provider's way."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    if provider == "bedrock":
        assert bearer.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        return
    names = {"anthropic": "x-api-key", "google": "x-goog-api-key", "azure": "api-key"}
    # a bearer's in some versions of Anthropic's client
    assert (headers.get(names[provider]) or bearer) == KEY


async def test_what_was_cut_off_is_not_carried_out(agent: ProvidedAgent) -> None:
    """It goes back with an object for arguments; what was whole goes back as it was."""
    poll: tuple[str, Any] = ("poll", {})
    meant = ("append", {"file": "c.txt", "line": "one"})
    await agent.ask(
        Turn(calls=(WRITE, MORE), at_limit=True),
        Turn(calls=(poll,), at_limit=True),
        Turn(calls=(poll, meant, MORE)),
        Turn(text="Done."),
    )
    outcome = await agent.outcome()
    assert outcome.stop_reason == "answered"
    # Azure's arguments are known as they were sent: the first call was whole
    assert agent.lines("a.txt") == (["Grüße, 世界"] if agent.provider == "azure" else [])
    assert agent.lines("b.txt") == ["two"], "the model was told, and called again"
    assert agent.lines("c.txt") == ["one"]
    assert_paired(await agent.messages())
    assert "length limit" in agent.server.requests[1].raw.decode()
    assert (await agent.observations())[3] == "1 %", "the first poll was not carried out"
    calls = sent_calls(agent.provider, agent.server.requests[-1].body)
    assert [name for name, _ in calls] == [*["append"] * 2, *["poll"] * 2, *["append"] * 2]
    assert all(isinstance(arguments, dict) for _, arguments in calls)
    assert list(calls[1][1]) == ["malformed_arguments"]
    assert calls[4] == meant


async def test_a_stream_that_ends_without_a_reason_is_no_call(agent: ProvidedAgent) -> None:
    agent.streamed = True
    cut = Turn(calls=(MORE,), silent=True)
    outcome = await agent.ask(cut, cut, Turn(text="Done."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Done.")
    assert agent.lines("b.txt") == []
    # Bedrock's client itself takes such a stream for broken: then there is nothing to tell
    told = "Not executed" in agent.server.requests[2].raw.decode()
    assert told is (agent.provider != "bedrock")


def sent_calls(provider: str, body: Any) -> list[tuple[str, Any]]:
    """Name and arguments of each call in a request."""
    if provider == "azure":
        functions = [c["function"] for m in body["messages"] for c in m.get("tool_calls") or ()]
        return [(f["name"], json.loads(f["arguments"])) for f in functions]
    if provider == "google":
        parts = [p for content in body["contents"] for p in content["parts"]]
        made = [p["functionCall"] for p in parts if "functionCall" in p]
        return [(call["name"], call["args"]) for call in made]
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    if provider == "bedrock":
        uses = [b["toolUse"] for b in blocks if "toolUse" in b]
    else:
        uses = [b for b in blocks if b["type"] == "tool_use"]
    return [(use["name"], use["input"]) for use in uses]


async def test_a_call_is_required_and_without_tools_it_is_in_words(agent: ProvidedAgent) -> None:
    """Two providers refuse calls in a request that offers no tools."""
    await agent.ask(Turn(calls=(WRITE,)), tool_choice="required", max_steps=1)
    body = agent.server.requests[0].body
    config = body.get("toolConfig") or {}
    found, right = {
        "anthropic": (body.get("tool_choice"), {"type": "any"}),
        "azure": (body.get("tool_choice"), "required"),
        "bedrock": (config.get("toolChoice"), {"any": {}}),
        "google": (config.get("functionCallingConfig", {}).get("mode"), "ANY"),
    }[agent.provider]
    assert found == right
    outcome = await agent.ask(Turn(text="As I said."), tool_choice="none")
    assert outcome.output == "As I said."
    body = agent.server.requests[-1].body
    assert not body.get("tools")
    assert not body.get("toolConfig")
    if agent.provider in ("anthropic", "bedrock"):
        assert sent_calls(agent.provider, body) == []
        assert "<tool_call>" in agent.server.requests[-1].raw.decode()
