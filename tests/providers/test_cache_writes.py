"""What a provider charges for writing its cache: counted apart, and with a price of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from manus.state.usage import Budget
from tests.providers.conftest import PROVIDERS, ProvidedAgent
from tests.providers.turns import Turn

WRITE = ("append", {"path": "a.txt", "line": "one"})
BOTH = pytest.mark.parametrize("provider", ["anthropic", "bedrock"])


def priced(folder: Path, provider: str, *lines: str) -> None:
    name = PROVIDERS[provider][1]
    table = [f'[prices."{name}"]', "input = 1.0", "output = 10.0", *lines]
    (folder / "manus.toml").write_text("\n".join(table))


@BOTH
async def test_it_is_counted_wherever_cached_input_is(agent: ProvidedAgent, tmp_path: Path) -> None:
    """By run and role; of 1,100 tokens 600 are read, 400 written and 100 neither."""
    priced(tmp_path, agent.provider, "cached = 0.1", "cache_write = 1.25")
    outcome = await agent.ask(
        Turn(calls=(WRITE,), written=400, cached=600), Turn(text="Done.", cached=1_000)
    )
    usage = outcome.usage
    assert (usage["input_tokens"], usage["cached_tokens"]) == (2_200, 1_600)
    assert usage["cache_write_tokens"] == 400
    assert usage["roles"]["main"]["cache_write_tokens"] == 400
    costs = [100 + 600 * 0.1 + 400 * 1.25 + 20 * 10, 100 + 1_000 * 0.1 + 20 * 10]
    assert usage["cost"] == pytest.approx(sum(costs) / 1e6)
    assert outcome.as_json()["usage"]["cache_write_tokens"] == 400


@BOTH
async def test_what_is_kept_for_an_hour_counts_too(agent: ProvidedAgent) -> None:
    usage = (await agent.ask(Turn(text="Done.", written=300, written_hour=50))).usage
    assert (usage["input_tokens"], usage["cache_write_tokens"]) == (450, 350)
    assert not usage.get("estimated")


@BOTH
async def test_without_its_price_it_costs_what_input_does(
    agent: ProvidedAgent, tmp_path: Path
) -> None:
    priced(tmp_path, agent.provider, "cached = 0.1")
    usage = (await agent.ask(Turn(text="Done.", written=400))).usage
    assert usage["cost"] == pytest.approx((500 + 20 * 10) / 1e6)


@pytest.mark.parametrize("provider", ["anthropic"])
async def test_a_limit_of_cost_is_held_against_it(agent: ProvidedAgent, tmp_path: Path) -> None:
    """A call of 1,000,100 tokens: 1.00 at the price of input, 20 where they are written."""
    priced(tmp_path, agent.provider, "cache_write = 20.0")
    outcome = await agent.ask(Turn(calls=(WRITE,), written=1_000_000), budget=Budget(cost=5.0))
    assert outcome.stop_reason == "budget"
    assert outcome.usage["cost"] == pytest.approx(20.0003)


@pytest.mark.parametrize("provider", ["anthropic"])
async def test_an_event_tells_of_it(agent: ProvidedAgent) -> None:
    parts = await agent.watch(Turn(calls=(WRITE,), written=400), Turn(text="Done."))
    thoughts = [event for _, event in parts if event.get("type") == "thought"]
    assert [event.get("cache_write_tokens") for event in thoughts] == [400, None]
    assert thoughts[-1]["spent"]["cache_write_tokens"] == 400
