"""A model's reply with its figures: tokens, time and money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from manus.models.model_names import DEFAULT_MODEL
from manus.models.server_usage import cache_tokens
from manus.models.tokens import Calibration, estimate_message, estimate_request, estimate_text
from manus.models.windows import window_of
from manus.nodes.active_run import Running
from manus.nodes.context.context_size import TOKENS
from manus.state.model_settings import ModelSettings, provider_of

AGENT_ROLE = "main"


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply and what it used."""

    message: AIMessage
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    estimated: bool
    seconds: float
    cost: float | None = None
    """None where no price is known."""
    role: str = AGENT_ROLE
    calls: int = 1
    answered: bool = True
    """False for a call that broke off: the figures are of what is known of it."""
    cache_write_tokens: int = 0

    def after(self, first: Reply) -> Reply:
        """This reply with the figures of one that was asked for before it and thrown away."""
        costs = [cost for cost in (first.cost, self.cost) if cost is not None]
        return replace(
            self,
            input_tokens=first.input_tokens + self.input_tokens,
            output_tokens=first.output_tokens + self.output_tokens,
            cached_tokens=first.cached_tokens + self.cached_tokens,
            cache_write_tokens=first.cache_write_tokens + self.cache_write_tokens,
            estimated=first.estimated or self.estimated,
            seconds=first.seconds + self.seconds,
            cost=sum(costs) if costs else None,
            calls=first.calls + self.calls,
        )


_SMALL = 1 / 16
"""Part of a window below which nothing depends on how well a request's size is estimated."""


def with_figures(
    running: Running,
    settings: ModelSettings,
    role: str,
    message: AIMessage,
    request: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]] | None,
    seconds: float,
) -> Reply:
    """The reply with the server's figures, or with estimates where it gives none."""
    model, provider = settings.model or "", provider_of(settings.model)
    calibration = running.calibration.setdefault(model, Calibration())
    usage = message.usage_metadata
    if usage is None or not usage["input_tokens"]:  # some servers report zeros
        usage = None
        given = calibration(estimate_request(request, tools, provider))
        said, cached, written = calibration(estimate_message(message, provider)), 0, 0
        message.additional_kwargs[TOKENS] = given + said
    else:
        given, said = usage["input_tokens"], usage["output_tokens"]
        cached, written = cache_tokens(usage.get("input_token_details"))
        if _matters(running, settings, given) and calibration.is_due():
            calibration.learn(estimate_request(request, tools, provider), given)
    price = running.settings.price_of(model or DEFAULT_MODEL)
    cost = price.cost(given, said, cached, written) if price is not None else None
    return Reply(
        message,
        given,
        said,
        cached,
        usage is None,
        seconds,
        cost,
        role,
        cache_write_tokens=written,
    )


def without_reply(
    running: Running,
    settings: ModelSettings,
    role: str,
    said: str,
    request: Sequence[BaseMessage],
    tools: Sequence[dict[str, Any]] | None,
    seconds: float,
) -> Reply:
    """What a call that broke off may be billed for: its request, and what was `said` till then."""
    calibration = running.calibration.setdefault(settings.model or "", Calibration())
    given = calibration(estimate_request(request, tools, provider_of(settings.model)))
    heard = calibration(estimate_text(said))
    price = running.settings.price_of(settings.model or DEFAULT_MODEL)
    cost = price.most(given, heard) if price is not None else None
    message = AIMessage(said)
    return Reply(message, given, heard, 0, True, seconds, cost, role, answered=False)


def _matters(running: Running, settings: ModelSettings, given: int) -> bool:
    """Whether estimates will be asked for: an estimate costs time, and most runs need none."""
    return running.purse.is_limited or given >= _SMALL * window_of(settings, running)
