"""Providers' real clients against servers of their protocols on loopback; no model is behind."""

import json
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
    outcome = await either.ask(
        Turn(text="I write.", calls=(WRITE, MORE)), Turn(text="Done.", cached=80)
    )
    assert (outcome.stop_reason, outcome.output) == ("answered", "Done.")
    assert either.lines("a.txt") == ["Grüße, 世界"]
    assert either.lines("b.txt") == ["two"]
    history = await either.messages()
    assert_paired(history)
    assert [m.text for m in history if isinstance(m, AIMessage)] == ["I write.", "Done."]
    assert all(isinstance(m.content, str) for m in history)
    assert "Appended to a.txt." in either.asked.requests[1].raw.decode()
    usage = outcome.usage
    extra = 80 if either.provider in ("anthropic", "bedrock") else 0
    assert usage["input_tokens"] == 200 + extra, "Anthropic does not count cached tokens as input"
    assert (usage["output_tokens"], usage["cached_tokens"]) == (40, 80)
    assert not usage.get("estimated")


async def test_the_key_is_sent_in_the_providers_way(agent: ProvidedAgent) -> None:
    await agent.ask(Turn(text="Done."))
    [request] = agent.asked.requests
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    sent = {
        "anthropic": request.headers.get("x-api-key") or bearer,  # as its client's version has it
        "google": request.headers.get("x-goog-api-key"),
        "azure": request.headers.get("api-key"),
        "bedrock": request.headers.get("authorization"),
    }
    if agent.provider == "bedrock":
        assert str(sent["bedrock"]).startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    else:
        assert sent[agent.provider] == KEY


async def test_tokens_and_arguments_arrive_in_pieces(agent: ProvidedAgent) -> None:
    agent.streamed = True
    parts = await agent.watch(Turn(text="I write it now.", calls=(WRITE,)), Turn(text="Done."))
    chunks = [data[0] for mode, data in parts if mode == "messages"]
    pieces = [chunk for chunk in chunks if isinstance(chunk, AIMessageChunk)]
    said = [chunk.text for chunk in pieces if chunk.text]
    assert "".join(said) == "I write it now.Done."
    assert len(said) > 2
    calls = [call for chunk in pieces for call in chunk.tool_call_chunks]
    assert {call["name"] for call in calls if call["name"]} == {"append"}
    if agent.provider in ("anthropic", "bedrock"):  # else a short call comes as a whole
        assert len(calls) > 3


async def test_what_was_cut_off_is_not_carried_out(either: ProvidedAgent) -> None:
    cut = Turn(calls=(WRITE, MORE), at_limit=True)
    outcome = await either.ask(cut, Turn(calls=(MORE,)), Turn(text="Done."))
    assert outcome.stop_reason == "answered"
    # Azure's arguments are known as they were sent: the first call was whole
    assert either.lines("a.txt") == (["Grüße, 世界"] if either.provider == "azure" else [])
    assert either.lines("b.txt") == ["two"], "the model was told, and called again"
    assert_paired(await either.messages())
    assert "length limit" in either.asked.requests[1].raw.decode()


async def test_a_stream_that_ends_without_a_reason_is_no_call(agent: ProvidedAgent) -> None:
    agent.streamed = True
    cut = Turn(calls=(MORE,), silent=True)
    outcome = await agent.ask(cut, cut, Turn(text="Done."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Done.")
    assert agent.lines("b.txt") == []
    # Bedrock's client itself takes such a stream for broken: then there is nothing to tell
    told = "Not executed" in agent.asked.requests[2].raw.decode()
    assert told is (agent.provider != "bedrock")


async def test_a_call_that_was_cut_before_its_arguments(agent: ProvidedAgent) -> None:
    outcome = await agent.ask(
        Turn(calls=(("poll", {}),), at_limit=True), Turn(calls=(("poll", {}),)), Turn(text="Done.")
    )
    assert outcome.stop_reason == "answered"
    assert (await agent.observations())[1] == "1 %", "the first call was not carried out"


async def test_malformed_and_mended_calls_go_back_in_a_form_that_is_accepted(
    agent: ProvidedAgent,
) -> None:
    """What the history holds of them has an object for arguments, under the names meant."""
    await agent.ask(
        Turn(calls=(("append", {"file": "a.txt", "line": "one"}),)),
        Turn(calls=(WRITE,), at_limit=True),
        Turn(text="Done."),
    )
    assert agent.lines("a.txt") == ["one"]
    calls = sent_calls(agent.provider, agent.asked.requests[-1].body)
    assert [name for name, _ in calls] == ["append", "append"]
    assert all(isinstance(arguments, dict) for _, arguments in calls)
    assert calls[0][1] == {"path": "a.txt", "line": "one"}
    assert list(calls[1][1]) == ["malformed_arguments"]


def sent_calls(provider: str, body: Any) -> list[tuple[str, Any]]:
    """Name and arguments of each call in a request."""
    if provider == "azure":
        functions = [c["function"] for m in body["messages"] for c in m.get("tool_calls") or ()]
        return [(f["name"], json.loads(f["arguments"])) for f in functions]
    if provider == "google":
        parts = [p for content in body["contents"] for p in content["parts"]]
        return [
            (p["functionCall"]["name"], p["functionCall"]["args"])
            for p in parts
            if "functionCall" in p
        ]
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    if provider == "bedrock":
        uses = [b["toolUse"] for b in blocks if "toolUse" in b]
    else:
        uses = [b for b in blocks if b["type"] == "tool_use"]
    return [(use["name"], use["input"]) for use in uses]


async def test_without_tools_what_was_called_is_in_words(agent: ProvidedAgent) -> None:
    """Two providers refuse calls in a request that offers no tools."""
    await agent.ask(Turn(calls=(WRITE,)), Turn(text="Done."))
    outcome = await agent.ask(Turn(text="As I said."), tool_choice="none")
    assert outcome.output == "As I said."
    body = agent.asked.requests[-1].body
    assert not body.get("tools")
    assert not body.get("toolConfig")
    if agent.provider in ("anthropic", "bedrock"):
        assert sent_calls(agent.provider, body) == []
        assert "<tool_call>" in agent.asked.requests[-1].raw.decode()


async def test_a_call_can_be_required(agent: ProvidedAgent) -> None:
    await agent.ask(Turn(calls=(WRITE,)), tool_choice="required", max_steps=1)
    body = agent.asked.requests[0].body
    found = {
        "anthropic": body.get("tool_choice"),
        "azure": body.get("tool_choice"),
        "bedrock": (body.get("toolConfig") or {}).get("toolChoice"),
        "google": (body.get("toolConfig") or {}).get("functionCallingConfig", {}).get("mode"),
    }[agent.provider]
    right = {
        "anthropic": {"type": "any"},
        "azure": "required",
        "bedrock": {"any": {}},
        "google": "ANY",
    }[agent.provider]
    assert found == right
