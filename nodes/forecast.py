"""What a model call will use, told before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from nodes.running import Running
from nodes.tokens import Calibration, estimate_request
from state.model_settings import ModelSettings, provider_of


def forecast(
    running: Running,
    endpoint: ModelSettings,
    request: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]] | None,
) -> dict[str, float]:
    """By kind of budget, as far as that kind is limited; without limits nothing is estimated."""
    purse = running.purse
    if not purse.limited("tokens", "cost"):
        return {"model_calls": 1} if purse.limited("model_calls") else {}
    calibration = running.calibration.get(endpoint.model or "", Calibration())
    given = calibration(estimate_request(request, tools, provider_of(endpoint.model)))
    said = min(purse.output_expected(), endpoint.max_tokens or float("inf"))
    price = running.settings.price_of(endpoint.model or "")
    cost = price.cost(round(given), round(said), 0) if price is not None else 0.0
    return {"tokens": given + said, "cost": cost, "model_calls": 1}
