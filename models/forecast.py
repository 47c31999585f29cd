"""What a model call will use, and what it can use at most, told before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from manus.models.model_names import DEFAULT_MODEL
from manus.models.reply_figures import Reply
from manus.models.reply_lengths import longest_reply
from manus.models.tokens import Calibration, estimate_request
from manus.models.windows import window_of
from manus.nodes.active_run import Running
from manus.state.model_settings import ModelSettings, provider_of

_MARGIN = 2.0
"""So many times the largest error that was seen, the next estimate of a request can be wrong."""


@dataclass(slots=True)
class Forecast:
    """By kind of budget, as far as that kind is limited; without limits nothing is estimated."""

    likely: dict[str, float] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)
    given: float = 0.0
    """Tokens of the request, as estimated without what was learned."""

    def learn(self, calibration: Calibration, reply: Reply) -> None:
        """The call has been made: how far from the truth it was."""
        if self.given and not reply.estimated:
            calibration.saw(self.given, reply.input_tokens, reply.output_tokens)


def forecast(
    running: Running,
    endpoint: ModelSettings,
    request: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]] | None,
) -> Forecast:
    """What a call to this endpoint uses."""
    purse = running.purse
    if not purse.limited("tokens", "cost"):
        calls = {"model_calls": 1.0} if purse.limited("model_calls") else {}
        return Forecast(calls, calls)
    calibration = running.calibration.setdefault(endpoint.model or "", Calibration())
    estimated = estimate_request(request, tools, provider_of(endpoint.model))
    given = float(calibration(estimated))
    said = min(purse.output_expected(), endpoint.max_tokens or float("inf"))
    most_given, most_said = _most(running, endpoint, calibration, estimated)
    return Forecast(
        _amounts(running, endpoint, given, said),
        _amounts(running, endpoint, max(given, most_given), max(said, most_said)),
        estimated,
    )


def _most(
    running: Running, endpoint: ModelSettings, calibration: Calibration, estimated: float
) -> tuple[float, float]:
    """Tokens that a request and its reply can have at most.

    A request before the first figures of a model: as many as its window. A reply: as many as
    `max_tokens` or, where a server was seen to say more than that, as the model can say at all.
    """
    window, longest = window_of(endpoint, running), longest_reply(endpoint, running)
    seen, said = calibration.highest, endpoint.max_tokens or longest
    given = float(window) if seen is None else min(_MARGIN * seen * estimated, window)
    return given, float(said if calibration.longest <= said else max(longest, calibration.longest))


def _amounts(
    running: Running, endpoint: ModelSettings, given: float, said: float
) -> dict[str, float]:
    price = running.settings.price_of(endpoint.model or DEFAULT_MODEL)
    cost = price.most(round(given), round(said)) if price is not None else 0.0
    return {"tokens": given + said, "cost": cost, "model_calls": 1.0}
