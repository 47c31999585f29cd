"""What single providers have: cache marks and what they cost, parameters for reasoning."""

import copy
import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from manus.models.endpoint_call import Question, ask_endpoint, with_cache_marks
from manus.models.providers import EXTRAS, build_model
from manus.state.messages import ephemeral
from manus.state.settings import load_settings
from tests.providers.conftest import PROVIDERS, ProvidedAgent, scripted
from tests.providers.turns import Turn
from tests.server import ScriptedServer

WRITE = ("append", {"path": "a.txt", "line": "one"})
MARK = {"type": "ephemeral"}
EFFORT: dict[str, Any] = {
    "anthropic": ("output_config", {"effort": "low"}),
    "google": ("generationConfig", {"thinking_level": "LOW"}),
}


@pytest.mark.parametrize("provider", ["anthropic"])
async def test_cache_marks_are_in_the_bytes(agent: ProvidedAgent) -> None:
    """One after the system prompt, one after the history; the last moves on with it."""
    await agent.ask(Turn(calls=(WRITE,)), Turn(calls=(WRITE,), cached=70), Turn(text="Done."))
    for request in agent.server.requests:
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
    agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.ask(Turn(text="Of a model before them."), thread="before")
    assert b"cachePoint" not in agent.server.requests.pop().raw
    monkeypatch.setenv("MANUS_MODEL", "bedrock:anthropic.claude-sonnet-4-20250514-v1:0")
    await agent.ask(Turn(calls=(WRITE,)), Turn(calls=(WRITE,), cached=70), Turn(text="Done."))
    for request in agent.server.requests:
        assert request.raw.count(b'"cachePoint"') == 2
    body = agent.server.requests[-1].body
    assert [next(iter(block)) for block in body["system"]] == ["text", "cachePoint"]
    last = [next(iter(block)) for block in body["messages"][-1]["content"]]
    assert last == ["toolResult", "cachePoint", "text"], "the next-step prompt stays outside"


async def test_the_tools_schemas_stay_as_they_are(provider: str, asked: ScriptedServer) -> None:
    """They are made once and are every later request's, that of a fallback too."""
    nothing = {"type": "object", "properties": {}}
    some = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tools = [
        {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}
        for name, schema in (("poll", nothing), ("read", some))
    ]
    before = copy.deepcopy(tools)
    settings = load_settings(os.environ).for_role("main")
    asked.script(scripted(PROVIDERS[provider][0](), Turn(text="Done.")))
    question = Question("main", [HumanMessage("Hello.")], tools, "required", quiet=True)
    await ask_endpoint(await build_model(settings, Path()), settings, question)
    assert tools == before


async def test_picture_and_parameters(
    agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_where_a_message_cannot_be_marked_the_one_before_is() -> None:
    contents: list[Any] = ["", [{"type": "thinking", "thinking": "Well"}]]
    for content in contents:
        said = AIMessage(content, tool_calls=[{"id": "1", "name": "bash", "args": {}}])
        request = [SystemMessage("You work."), HumanMessage("Do it."), said, ephemeral("Next?")]
        marked = with_cache_marks(request, EXTRAS["anthropic"])
        assert ["cache_control" in str(m.content) for m in marked] == [True, True, False, False]
