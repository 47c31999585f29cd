"""What single providers have: cache marks and what they cost, parameters for reasoning."""

import copy
import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from manus.models.endpoint_call import Question, ask_endpoint
from manus.models.providers import build_model
from manus.state.settings import load_settings
from manus.state.usage import Budget
from tests.providers.conftest import PROVIDERS, ProvidedAgent
from tests.providers.server import ProviderServer
from tests.providers.turns import Turn

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
    for request in agent.asked.requests:
        body = request.body
        assert body["system"][-1]["cache_control"] == MARK
        blocks = [
            b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]
        ]
        marked = [block for block in blocks if "cache_control" in block]
        assert len(marked) == 1
        assert request.raw.count(b'"cache_control"') == 2
    last = agent.asked.requests[-1].body["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "text"]
    assert last[0]["cache_control"] == MARK, "the next-step prompt stays outside"
    assert (await agent.outcome()).usage["cached_tokens"] == 70


@pytest.mark.parametrize("provider", ["bedrock"])
@pytest.mark.parametrize(("name", "marks"), [("sonnet-4-20250514", 2), ("3-haiku", 0)])
async def test_cache_points_are_set_for_models_that_know_them(
    agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch, name: str, marks: int
) -> None:
    monkeypatch.setenv("MANUS_MODEL", f"bedrock:anthropic.claude-{name}-v1:0")
    await agent.ask(Turn(calls=(WRITE,)), Turn(calls=(WRITE,), cached=70), Turn(text="Done."))
    for request in agent.asked.requests:
        assert request.raw.count(b'"cachePoint"') == marks
    body = agent.asked.requests[-1].body
    system = [next(iter(block)) for block in body["system"]]
    assert system == (["text", "cachePoint"] if marks else ["text"])
    last = [next(iter(block)) for block in body["messages"][-1]["content"]]
    expected = ["toolResult", "cachePoint", "text"] if marks else ["toolResult", "text"]
    assert last == expected, "the next-step prompt stays outside"


async def test_a_picture_and_chosen_parameters_are_sent(
    agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_TEMPERATURE", "0.5")
    monkeypatch.setenv("MANUS_MAX_TOKENS", "123")
    if agent.provider in EFFORT:
        monkeypatch.setenv("MANUS_REASONING_EFFORT", "low")
    outcome = await agent.ask(Turn(calls=(("picture", {}),)), Turn(text="Seen."))
    assert outcome.output == "Seen."
    first, second = agent.asked.requests
    assert b"iVBORw0KGgo" in second.raw
    assert b"0.5" in first.raw
    assert b"123" in first.raw
    if agent.provider in EFFORT:
        name, value = EFFORT[agent.provider]
        assert value in (first.body[name], first.body[name].get("thinkingConfig"))


@pytest.mark.parametrize("provider", ["azure"])
@pytest.mark.parametrize(("deployment", "sent"), [("o3-mini", None), ("mine", 0.5)])
async def test_a_reasoning_model_on_azure_gets_no_temperature(
    agent: ProvidedAgent, monkeypatch: pytest.MonkeyPatch, deployment: str, sent: float | None
) -> None:
    """What kind of model it is can be told from the deployment's name alone."""
    monkeypatch.setenv("MANUS_MODEL", f"azure:{deployment}")
    monkeypatch.setenv("MANUS_TEMPERATURE", "0.5")
    monkeypatch.setenv("MANUS_MAX_TOKENS", "123")
    outcome = await agent.ask(Turn(text="Done."))
    assert outcome.output == "Done."
    [request] = agent.asked.requests
    assert f"/deployments/{deployment}/" in request.path
    assert request.body["model"] == deployment
    assert request.body.get("temperature") == sent
    assert request.body["max_completion_tokens"] == 123


async def test_the_tools_schemas_stay_as_they_are(provider: str, asked: ProviderServer) -> None:
    """They are made once and are every later request's, that of a fallback too."""
    nothing = {"type": "object", "properties": {}}
    some = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tools = [
        {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}
        for name, schema in (("poll", nothing), ("read", some))
    ]
    before = copy.deepcopy(tools)
    settings = load_settings(os.environ).for_role("main")
    asked.script(Turn(text="Done."))
    question = Question("main", [HumanMessage("Hello.")], tools, "required", quiet=True)
    reply = await ask_endpoint(await build_model(settings, Path()), settings, question)
    assert reply.text == "Done."
    assert tools == before


BOTH = pytest.mark.parametrize("provider", ["anthropic", "bedrock"])


def priced(folder: Path, provider: str, *lines: str) -> None:
    name = PROVIDERS[provider][1]
    table = [f'[prices."{name}"]', "input = 1.0", "output = 10.0", *lines]
    (folder / "manus.toml").write_text("\n".join(table))


@BOTH
async def test_it_is_counted_wherever_cached_input_is(agent: ProvidedAgent, tmp_path: Path) -> None:
    """By run and role; of 1,100 tokens 600 are read, 400 written and 100 neither."""
    priced(tmp_path, agent.provider, "cached = 0.1", "cache_write = 1.25")
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


@BOTH
async def test_what_is_kept_for_an_hour_counts_too_and_costs_what_input_does(
    agent: ProvidedAgent, tmp_path: Path
) -> None:
    """Where it has no price of its own."""
    priced(tmp_path, agent.provider, "cached = 0.1")
    usage = (await agent.ask(Turn(text="Done.", written=300, written_hour=50))).usage
    assert (usage["input_tokens"], usage["cache_write_tokens"]) == (450, 350)
    assert usage["cost"] == pytest.approx((450 + 20 * 10) / 1e6)
    assert not usage.get("estimated")


@pytest.mark.parametrize("provider", ["anthropic"])
async def test_a_limit_of_cost_is_held_against_it(agent: ProvidedAgent, tmp_path: Path) -> None:
    """A call of 1,000,100 tokens: 1.00 at the price of input, 20 where they are written."""
    priced(tmp_path, agent.provider, "cache_write = 20.0")
    outcome = await agent.ask(Turn(calls=(WRITE,), written=1_000_000), budget=Budget(cost=5.0))
    assert outcome.stop_reason == "budget"
    assert outcome.usage["cost"] == pytest.approx(20.0003)
