"""Features of particular providers: cache control and its price, parameters, thoughts."""

import copy
import json
import logging
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage

from manus.config import provider_table
from manus.config.settings import load_settings
from manus.graph import build_agent
from manus.models.chat_models import build_model
from manus.models.endpoint_call import ask_endpoint
from manus.models.model_request import ModelRequest
from manus.models.package_messages import with_cache_marks
from manus.state.messages import ephemeral, readable_thoughts
from tests.helpers.agent import TESTER
from tests.providers.conftest import PROVIDERS, ProvidedAgent, scripted
from tests.providers.turns import Json, Refusal, Turn
from tests.server import ScriptedServer, call
from tests.server.products import ollama

WRITE = ("append", {"path": "a.txt", "line": "one"})
MARK = {"type": "ephemeral"}
EFFORT: dict[str, Any] = {
    "anthropic": ("output_config", {"effort": "low"}),
    "google": ("generationConfig", {"thinking_level": "LOW"}),
}


@pytest.mark.parametrize("provider", ["anthropic"])
async def test_cache_marks_are_in_the_bytes(
    agent: ProvidedAgent, subtests: pytest.Subtests
) -> None:
    """One after the system prompt, one after the history; the last one moves with it."""
    await agent.ask(Turn(calls=(WRITE,)), Turn(calls=(WRITE,), cached=70), Turn(text="Done."))
    for request in agent.server.requests:
        with subtests.test(request=request):
            body = request.body
            assert body["system"][-1]["cache_control"] == MARK
            blocks = [
                b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]
            ]
            marked = [block for block in blocks if "cache_control" in block]
            assert len(marked) == 1
            assert request.raw.count(b'"cache_control"') == 2
    last = agent.server.requests[-1].body["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "text"]
    assert last[0]["cache_control"] == MARK, "the next-step prompt stays outside"
    assert (await agent.outcome()).usage["cached_tokens"] == 70


@pytest.mark.parametrize("provider", ["bedrock"])
async def test_cache_points_are_set_for_models_that_know_them(
    agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    await agent.ask(Turn(text="Of a model before them."), thread="before")
    assert b"cachePoint" not in agent.server.requests.pop().raw
    monkeypatch.setenv("MANUS_MODEL", "bedrock:anthropic.claude-sonnet-4-20250514-v1:0")
    await agent.ask(Turn(calls=(WRITE,)), Turn(calls=(WRITE,), cached=70), Turn(text="Done."))
    for request in agent.server.requests:
        with subtests.test(request=request):
            assert request.raw.count(b'"cachePoint"') == 2
    body = agent.server.requests[-1].body
    assert [next(iter(block)) for block in body["system"]] == ["text", "cachePoint"]
    last = [next(iter(block)) for block in body["messages"][-1]["content"]]
    assert last == ["toolResult", "cachePoint", "text"], "the next-step prompt stays outside"


async def test_the_tools_schemas_stay_unchanged(
    provider: str, provider_server: ScriptedServer
) -> None:
    """They are built once, and reused for every later request, also for a fallback."""
    nothing = {"type": "object", "properties": {}}
    some = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tools = [
        {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}
        for name, schema in (("poll", nothing), ("read", some))
    ]
    before = copy.deepcopy(tools)
    settings = load_settings(os.environ).for_role("main")
    provider_server.script(scripted(PROVIDERS[provider][0](), Turn(text="Done.")))
    model_request = ModelRequest("main", [HumanMessage("Hello.")], tools, "required", quiet=True)
    await ask_endpoint(await build_model(settings, Path()), settings, model_request)
    assert tools == before


async def test_image_and_parameters(agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANUS_TEMPERATURE", "0.5")
    monkeypatch.setenv("MANUS_MAX_TOKENS", "123")
    if agent.provider in EFFORT:
        monkeypatch.setenv("MANUS_REASONING_EFFORT", "low")
    outcome = await agent.ask(Turn(calls=(("picture", {}),)), Turn(text="Seen."))
    assert outcome.output == "Seen."
    first, second = agent.server.requests
    assert b"iVBORw0KGgo" in second.raw
    assert b"0.5" in first.raw
    assert b"123" in first.raw
    if agent.provider in EFFORT:
        name, value = EFFORT[agent.provider]
        assert value in (first.body[name], first.body[name].get("thinkingConfig"))


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
async def test_it_is_counted_wherever_cached_input_is(agent: ProvidedAgent) -> None:
    """By run and role; of 1,100 tokens 600 are read, 400 written and 100 neither."""
    price = "input = 1.0\noutput = 10.0\ncached = 0.1\ncache_write = 1.25\n"
    Path("manus.toml").write_text(f'[prices."{PROVIDERS[agent.provider][1]}"]\n{price}')
    parts = await agent.watch(
        Turn(calls=(WRITE,), written=400, cached=600), Turn(text="Done.", cached=1_000)
    )
    outcome = await agent.outcome()
    usage = outcome.usage
    assert (usage["input_tokens"], usage["cached_tokens"]) == (2_200, 1_600)
    assert usage["cache_write_tokens"] == 400
    assert usage["roles"]["main"]["cache_write_tokens"] == 400
    costs = [100 + 600 * 0.1 + 400 * 1.25 + 20 * 10, 100 + 1_000 * 0.1 + 20 * 10]
    assert usage["cost"] == pytest.approx(sum(costs) / 1e6)
    assert outcome.as_json()["usage"]["cache_write_tokens"] == 400
    thoughts = [event for _, event in parts if event.get("type") == "thought"]
    assert [event.get("cache_write_tokens") for event in thoughts] == [400, None]
    assert thoughts[-1]["spent"]["cache_write_tokens"] == 400


async def test_where_a_message_cannot_be_marked_the_one_before_is(
    subtests: pytest.Subtests,
) -> None:
    contents: list[Any] = ["", [{"type": "thinking", "thinking": "Well"}]]
    for content in contents:
        with subtests.test(content=content):
            message = AIMessage(content, tool_calls=[{"id": "1", "name": "bash", "args": {}}])
            request = [
                SystemMessage("You work."),
                HumanMessage("Do it."),
                message,
                ephemeral("Next?"),
            ]
            marked = with_cache_marks(request, provider_table.PROVIDERS["anthropic"])
            assert ["cache_control" in str(m.content) for m in marked] == [True, True, False, False]


@pytest.fixture
def thinker(agent: ProvidedAgent) -> ProvidedAgent:
    """Provide an agent whose provider sends thoughts."""
    agent.streamed = True
    return agent


def use(place: int) -> Json:
    """Return a call in Anthropic's format."""
    arguments = {"path": "a", "line": str(place)}
    return {"type": "tool_use", "id": f"toolu_{place}", "name": "append", "input": arguments}


def build_thought(text: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"}
SAID = {"type": "text", "text": "I write."}


def assistant(agent: ProvidedAgent, place: int = 0) -> list[Json]:
    """Return the blocks of an assistant message in the last request."""
    body: Any = agent.server.requests[-1].body
    if agent.provider == "google":
        messages = [c["parts"] for c in body["contents"] if c["role"] == "model"]
    else:
        messages = [m["content"] for m in body["messages"] if m["role"] == "assistant"]
    blocks: list[Json] = messages[place]
    return blocks


CALLED = {"functionCall": {"name": "append", "args": {"path": "a", "line": "0"}}}
SECOND = {"functionCall": {"name": "append", "args": {"path": "a", "line": "1"}}}
MUSED = {"text": "First.", "thought": True}
SIGNATURE = "c2lnbmVk"
REASONED = {"reasoningContent": {"reasoningText": {"text": "First.", "signature": SIGNATURE}}}
THEN = {"reasoningContent": {"reasoningText": {"text": "Then.", "signature": "dHdv"}}}
USED = {"toolUse": {"toolUseId": "t0", "name": "append", "input": {"path": "a", "line": "0"}}}
AGAIN = {"toolUse": {"toolUseId": "t1", "name": "append", "input": {"path": "a", "line": "1"}}}
BLOCKS: dict[str, tuple[Json, ...]] = {
    "anthropic redacted": (build_thought("First.", SIGNATURE), REDACTED, SAID, use(0), use(1)),
    "anthropic between calls": (
        build_thought("First.", "one"),
        use(0),
        build_thought("Then.", "two"),
        use(1),
    ),
    "anthropic two not shown": (build_thought("", "one"), build_thought("", "two"), use(0), use(1)),
    "google after a thought": (
        *(MUSED, {"text": "I write."}, {**CALLED, "thoughtSignature": SIGNATURE}, SECOND),
    ),
    "google of the text": ({"text": "I write.", "thoughtSignature": "eHh4"}, CALLED, SECOND),
    "google each its own": (
        {**CALLED, "thoughtSignature": "AbCd"},
        {**SECOND, "thoughtSignature": "DeFg"},
    ),
    "bedrock before": (REASONED, {"text": "I write."}, USED, AGAIN),
    "bedrock between calls": (REASONED, USED, THEN, AGAIN),
}


def unthought(parts: Iterable[Json]) -> list[Json]:
    """Remove the text of thoughts, which Google does not require."""
    return [part for part in parts if "thought" not in part]


def without_ids(agent: ProvidedAgent) -> list[Json]:
    """Return the model's parts of the last request, without the ids that Google's calls get."""
    message = assistant(agent)
    if agent.provider != "google":
        return message
    return [{k: v for k, v in part.items() if k != "id"} for part in message]


@pytest.mark.parametrize(
    ("provider", "blocks"),
    [(name.split()[0], blocks) for name, blocks in BLOCKS.items()],
    ids=BLOCKS,
)
async def test_they_go_back_in_order(thinker: ProvidedAgent, blocks: tuple[Json, ...]) -> None:
    outcome = await thinker.ask(Turn(blocks=blocks), Turn(text="Done."))
    assert outcome.output == "Done."
    assert thinker.lines("a") == ["0", "1"]
    assert unthought(without_ids(thinker)) == unthought(blocks)


SIGNED = {
    "anthropic": BLOCKS["anthropic redacted"],
    "google": BLOCKS["google after a thought"],
    "bedrock": BLOCKS["bedrock before"],
}


@pytest.mark.parametrize("provider", list(SIGNED))
async def test_no_other_provider_gets_them(
    thinker: ProvidedAgent, server: ScriptedServer, tmp_path: Path
) -> None:
    """A compatible server as the fallback; then the provider's model gets its own again."""
    other = f'{{model = "other", base_url = "{server.base_url}"}}'
    (tmp_path / "manus.toml").write_text(f"fallback = [{other}]\n")
    server.script(call("append", path="a", line="1"))
    blocks = SIGNED[thinker.provider]
    refused = Refusal(400, "ValidationException", "The request was flagged.")
    replies = (Turn(blocks=blocks), refused, Turn(text="Done."))
    pieces = [data[0] for mode, data in await thinker.watch(*replies) if mode == "messages"]
    thoughts = [readable_thoughts(piece) for piece in pieces if isinstance(piece, AIMessageChunk)]
    assert "".join(thoughts) == "First."
    [message] = [m for m in server.requests[-1].messages if m["role"] == "assistant"]
    assert "I write." in json.dumps(message["content"])
    assert set(message) == {"role", "content", "tool_calls"}
    assert not any(word in json.dumps(message) for word in ("First.", SIGNATURE, "extras", "index"))
    assert unthought(without_ids(thinker)) == unthought(blocks)


SEARCHES = {
    "anthropic": {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
    "google": {"google_search": {}},
}


@pytest.mark.parametrize("provider", SEARCHES)
async def test_a_tool_of_the_provider_is_passed_on(agent: ProvidedAgent, provider: str) -> None:
    profile = replace(agent.graph.profile, tools=("terminate", SEARCHES[provider]))
    agent.graph = build_agent(profile, checkpointer=agent.saver)
    outcome = await agent.ask(Turn(text="Done."))
    assert outcome.output == "Done."
    tools = json.dumps(agent.server.requests[0].body["tools"])
    assert "terminate" in tools
    expected = {"anthropic": json.dumps(SEARCHES["anthropic"]), "google": '"googleSearch": {}'}
    assert expected[provider] in tools


@pytest.mark.parametrize("provider", ["ollama"])
async def test_ollama_reports_its_window(
    agent: ProvidedAgent, caplog: pytest.LogCaptureFixture
) -> None:
    agent.server.pages = ollama("qwen3:latest", 4_096)
    try:
        with caplog.at_level(logging.WARNING, "manus"):
            await agent.ask(Turn(text="Done."))
    finally:
        agent.server.pages = {}
    [warning] = [record.getMessage() for record in caplog.records]
    assert "a context window of 4,096 tokens" in warning
    assert "MANUS_CONTEXT_WINDOW=32768" in warning


LEAN = replace(TESTER, on_demand=("append",))


@pytest.mark.parametrize("as_text", [False, True])
async def test_a_tool_on_demand(agent: ProvidedAgent, *, as_text: bool) -> None:
    """Gemini rejects objects without properties, so it sends their JSON text."""
    agent.graph = build_agent(LEAN, checkpointer=agent.saver)
    name, arguments = WRITE
    function = {"name": name, "arguments": json.dumps(arguments) if as_text else arguments}
    await agent.ask(Turn(calls=(("use_tool", function),)), Turn(text="Done."))
    assert agent.lines("a.txt") == ["one"]
    first, second = agent.server.requests
    assert "Append a line to a file." in first.raw.decode()
    # the list names all arguments of this tool, so no description follows its call
    assert "For further calls" not in second.raw.decode()
    schema = dispatcher_schema(first.body)
    assert schema["name"]["type"].lower() == "string"
    expected = "string" if agent.provider == "google" else "object"
    assert schema["arguments"]["type"].lower() == expected


def dispatcher_schema(value: Any) -> dict[str, Any]:
    """Return the properties of `use_tool`, wherever a provider puts the schema."""
    if isinstance(value, list):
        return next(filter(None, map(dispatcher_schema, value)), {})
    if not isinstance(value, dict):
        return {}
    if {"name", "arguments"} == value.keys() and "type" in value["name"]:
        return value
    return dispatcher_schema(list(value.values()))
