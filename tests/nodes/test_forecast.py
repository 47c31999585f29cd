"""What a call uses at most, and what that is learned from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from manus.models.forecast import Forecast, forecast
from manus.models.reply_figures import Reply
from manus.models.reply_lengths import longest_reply
from manus.models.tokens import Calibration, estimate_request
from manus.nodes.active_run import Running, open_run
from manus.state.budget import Budget
from manus.state.context import Context
from manus.state.model_settings import ModelSettings, Price
from tests.helpers.agent import TESTER

REQUEST = [HumanMessage("once upon a time " * 100)]
SIZE = estimate_request(REQUEST)
PRICES = """
[prices.m]
input = 1.0
cached = 2.0
output = 10.0
"""


@pytest.fixture
async def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Running]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "manus.toml").write_text(PRICES)
    budget = Budget(tokens=10**6, cost=10)
    context = Context(workspace=str(tmp_path), model="m", budget=budget)
    made = await open_run("k", TESTER, context, durable=False)
    yield made
    await made.session.close()


def told(running: Running, **chosen: object) -> Forecast:
    return forecast(running, ModelSettings.model_validate({"model": "m", **chosen}), REQUEST, None)


def learned(running: Running, given: int, said: int, **chosen: object) -> Forecast:
    """The forecast after a call of the same request that used so much."""
    reply = Reply(AIMessage("x"), given, said, 0, estimated=False, seconds=0.1)
    told(running).learn(running.calibration["m"], reply)
    return told(running, **chosen)


async def test_before_the_first_figures_it_is_the_window_twice(running: Running) -> None:
    found = told(running, context_window=50_000)
    assert found.most["tokens"] == 100_000
    assert found.likely["tokens"] == pytest.approx(SIZE + 300, abs=1)
    assert found.most["model_calls"] == found.likely["model_calls"] == 1


async def test_max_tokens_bounds_the_reply(running: Running) -> None:
    assert told(running, context_window=50_000, max_tokens=700).most["tokens"] == 50_700


async def test_a_request_is_bounded_by_the_largest_error_that_was_seen(running: Running) -> None:
    found = learned(running, round(1.5 * SIZE), 100, max_tokens=700)
    assert found.most["tokens"] == pytest.approx(2 * 1.5 * SIZE + 700, abs=10)
    found = learned(running, round(0.5 * SIZE), 100, max_tokens=700)
    assert found.most["tokens"] == pytest.approx(2 * 1.5 * SIZE + 700, abs=10)


async def test_a_server_that_goes_beyond_max_tokens_is_not_relied_on(running: Running) -> None:
    found = learned(running, round(SIZE), 900, max_tokens=700, context_window=50_000)
    assert found.most["tokens"] == pytest.approx(2 * SIZE + 50_000, abs=10)


async def test_cost_is_that_of_the_dearer_price(running: Running) -> None:
    found = learned(running, round(SIZE), 100, max_tokens=700)
    assert found.most["cost"] == pytest.approx((2 * SIZE * 2.0 + 700 * 10.0) / 1e6, rel=0.01)
    assert found.likely["cost"] < found.most["cost"]


async def test_writing_the_cache_is_reserved_for(running: Running) -> None:
    """It may be dearer than anything else that can become of a request."""
    prices = {"m": Price(input=1.0, cached=0.1, cache_write=1.25, output=10.0)}
    running.settings = running.settings.model_copy(update={"prices": prices})
    found = learned(running, round(SIZE), 100, max_tokens=700)
    assert found.likely["cost"] == pytest.approx((SIZE * 1.25 + 300 * 10.0) / 1e6, rel=0.01)
    assert found.most["cost"] == pytest.approx((2 * SIZE * 1.25 + 700 * 10.0) / 1e6, rel=0.01)


async def test_estimates_teach_nothing(running: Running) -> None:
    reply = Reply(AIMessage("x"), 10**5, 10**5, 0, estimated=True, seconds=0.1)
    calibration = Calibration()
    told(running).learn(calibration, reply)
    assert (calibration.highest, calibration.longest) == (None, 0)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-4o-mini", 16_384),
        ("openai:gpt-5-mini", 128_000),
        ("anthropic:claude-sonnet-4-5", 128_000),
        ("mistral-small", 32_768),
        ("gpt-4", 8_192),
    ],
)
async def test_what_a_model_can_say(running: Running, model: str, tokens: int) -> None:
    assert longest_reply(ModelSettings(model=model), running) == tokens
