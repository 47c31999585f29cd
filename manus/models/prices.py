"""Price model calls: by the user's own table, else by what the provider publishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from manus.config.model_settings import ModelSettings, split_spec
from manus.config.provider_table import DEFAULT_MODEL
from manus.config.settings import Settings
from manus.models.server_window import is_private

_PUBLISHED_CURRENCY = "$"


class Pricing(Protocol):
    """Prices of one model."""

    def cost(
        self, input_tokens: int, output_tokens: int, cached_tokens: int, written_tokens: int = 0
    ) -> float:
        """Return the cost of a call; `input_tokens` include cache reads and writes."""


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    """The price that a provider publishes, in US dollars, with its tiers and its changes in time.

    The table is part of the package genai-prices: nothing is downloaded.
    """

    model: str
    provider: dict[str, Any]
    """The provider's name, or the address by which it is recognised."""

    def cost(
        self, input_tokens: int, output_tokens: int, cached_tokens: int, written_tokens: int = 0
    ) -> float:
        """Return the cost of a call.

        Raises:
            LookupError: the table does not contain the model of this provider.
        """
        from genai_prices import Usage, calc_price

        cached_tokens = min(cached_tokens, input_tokens)
        usage = Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=cached_tokens,
            cache_write_tokens=min(written_tokens, input_tokens - cached_tokens),
        )
        return float(calc_price(usage, self.model, **self.provider).total_price)


def find_price(settings: Settings, endpoint: ModelSettings) -> Pricing | None:
    """Return the price of an endpoint's model, or None.

    A model with the same name on a server of another address may cost nothing or anything: only a
    provider's own address has its published prices.
    """
    spec = endpoint.model or DEFAULT_MODEL
    own = settings.find_price(spec)
    if own is not None or settings.currency != _PUBLISHED_CURRENCY:
        return own
    provider, name = split_spec(spec)
    by: dict[str, Any] = {"provider_id": provider}
    if endpoint.base_url:
        if is_private(endpoint.base_url):
            return None
        by = {"provider_api_url": endpoint.base_url}
    published = PublishedPrice(name, by)
    try:
        published.cost(0, 0, 0)
    except LookupError:
        return None
    return published
