"""The cost of a call: by the user's table, else by the provider's published prices."""

import pytest

from manus.config.model_settings import ModelSettings, Price
from manus.config.settings import Settings
from manus.models.prices import find_price

OWN = {"gpt-5": Price(input=1.0, output=2.0)}
CLAUDE = "anthropic:claude-sonnet-4-5"


def find_cost(settings: Settings, model: str, address: str | None, *tokens: int) -> float | None:
    endpoint = ModelSettings(model=model, base_url=address)
    pricing = find_price(settings, endpoint)
    return None if pricing is None else pricing.cost(*tokens)


@pytest.mark.parametrize(
    ("model", "address", "cost"),
    [
        # published: 1.25 per million input tokens, 0.125 from the cache, 10 per million output
        ("gpt-5", None, (500 * 1.25 + 500 * 0.125 + 100 * 10) / 1e6),
        ("gpt-5", "https://api.openai.com/v1", (500 * 1.25 + 500 * 0.125 + 100 * 10) / 1e6),
        ("openrouter:openai/gpt-5", None, (500 * 1.25 + 500 * 0.125 + 100 * 10) / 1e6),
        (CLAUDE, None, (500 * 3 + 500 * 0.3 + 100 * 15) / 1e6),
        ("gpt-5", "http://127.0.0.1:8000/v1", None),
        ("gpt-5", "https://gateway.example.com/v1", None),
        ("ollama:gpt-oss:20b", None, None),
        ("an-unpublished-model", None, None),
    ],
)
def test_published_prices(model: str, address: str | None, cost: float | None) -> None:
    found = find_cost(Settings(), model, address, 1_000, 100, 500)
    assert found == (None if cost is None else pytest.approx(cost))


def test_longer_requests_may_have_higher_prices() -> None:
    short = find_cost(Settings(), "google:gemini-2.5-pro", None, 100_000, 0, 0)
    long = find_cost(Settings(), "google:gemini-2.5-pro", None, 300_000, 0, 0)
    assert short is not None
    assert long == pytest.approx(6 * short)


def test_the_users_own_prices_come_first() -> None:
    settings = Settings(prices=OWN)
    assert find_cost(settings, "gpt-5", None, 1_000_000, 0, 0) == 1.0
    assert find_cost(settings, "gpt-5", "http://127.0.0.1:8000/v1", 1_000_000, 0, 0) == 1.0
    assert find_cost(settings, CLAUDE, None, 1_000_000, 0, 0) == pytest.approx(6.0), "over 200k"


def test_dollars_are_no_other_currency() -> None:
    settings = Settings(prices=OWN, currency="€")
    assert find_cost(settings, "gpt-5", None, 1_000_000, 0, 0) == 1.0
    assert find_cost(settings, CLAUDE, None, 1_000_000, 0, 0) is None


def test_reported_cache_tokens_may_exceed_the_input() -> None:
    assert find_cost(Settings(), "gpt-5", None, 10, 0, 100, 5) == pytest.approx(10 * 0.125 / 1e6)
