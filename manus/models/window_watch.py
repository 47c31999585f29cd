"""Detect servers that silently drop part of a request because of a small context window.

Before the first request, the server is asked for its window (`server_window`); after each reply,
the tokens that it counted are compared with those sent.
"""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage

from manus.config.model_settings import ModelSettings, get_provider, split_spec
from manus.config.provider_table import (
    DEFAULT_ADDRESS,
    DEFAULT_MODEL,
    DEFAULT_PROVIDER,
    PRODUCTS,
    PROVIDERS,
)
from manus.models.model_request import ModelRequest
from manus.models.providers import get_address
from manus.models.server_window import (
    SMALL,
    WANTED,
    ModelServer,
    ServerWindow,
    find_window,
    local_address,
)
from manus.models.tokens import cache_tokens, note_window
from manus.state.errors import ContextOverflowError

log = logging.getLogger("manus")

_VALID_FOR = 120.0
"""Seconds after which a server is asked again: it may have been restarted."""
_MIN_COMPARED = 2_000
"""Estimated tokens below which nothing is compared."""
_FAR_BELOW = 0.5
"""Fraction of an estimate below which a count is far too low, if the window is not known."""
_SURE = 1.3
"""Multiple of the window above which an estimate is too large for any method of counting."""
_ROUGH = 0.7
_EXACT = 0.85
"""Fractions of an estimate below which a count is too low for a request larger than the window: of
a rough estimate, and of one that is calibrated by the server's own counts."""


@dataclass(slots=True)
class _Watch:
    """What is known of the server of an endpoint, and what the user has been told about it."""

    window: ServerWindow | None = None
    asked_at: float = -math.inf
    is_suspected: bool = False
    """Whether it was asked again because its count was far too low."""
    warnings: set[str] = field(default_factory=set)

    def warn(self, kind: str, text: str, *values: object) -> None:
        """Log a warning, once per kind."""
        if kind not in self.warnings:
            self.warnings.add(kind)
            log.warning(text, *values)


_watches: defaultdict[tuple[str | None, str | None], _Watch] = defaultdict(_Watch)
"""By address and model, shared by all runs of the process."""


def _get_watch(endpoint: ModelSettings) -> _Watch:
    return _watches[endpoint.base_url, endpoint.model]


def is_truncated(estimate: float, counted: int, size: int, *, is_exact: bool) -> bool:
    """Return whether a server with a window of `size` tokens has dropped a part of a request.

    `is_exact`: the estimate is calibrated.
    """
    if counted > 1.02 * size:
        return False
    is_low = counted < (_EXACT if is_exact else _ROUGH) * estimate
    return estimate > _SURE * size or (is_low and estimate > 1.05 * size)


def _counted_tokens(request: ModelRequest, reply: AIMessage) -> int | None:
    """Return the tokens of the request as the server counted them; None if they cannot be compared.

    They cannot if the server omits cached tokens, or if there are images, whose tokens each server
    counts in its own way.
    """
    usage = reply.usage_metadata
    if usage is None or request.has_images or cache_tokens(usage.get("input_token_details"))[0]:
        return None
    return usage["input_tokens"] or None


def find_server(endpoint: ModelSettings) -> ModelServer | None:
    """Return the server of an endpoint that reports its window; None for hosted providers."""
    provider, name = split_spec(endpoint.model or DEFAULT_MODEL)
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else None
    if product := PROVIDERS[provider].product:
        address = endpoint.base_url or local_address(PRODUCTS[product])
        return ModelServer(address, name, key, product)
    hosted = (None, urlsplit(DEFAULT_ADDRESS).hostname)
    if provider != DEFAULT_PROVIDER or urlsplit(endpoint.base_url or "").hostname in hosted:
        return None
    return ModelServer(endpoint.base_url or "", name, key)


async def look_up_window(
    endpoint: ModelSettings, server: ModelServer, *, again: bool = False
) -> ServerWindow | None:
    """Return the window that the server of an endpoint reports; cache it for a while.

    `again`: ask even if there is a cached answer.
    """
    watch = _get_watch(endpoint)
    if again or time.monotonic() - watch.asked_at > _VALID_FOR:
        watch.asked_at = time.monotonic()
        # if the server is unavailable, the model call reports that
        watch.window = await find_window(server) or watch.window
        if watch.window is not None and watch.window.size is not None:
            note_window(endpoint, watch.window.size)
    return watch.window


def warn_of_small_window(endpoint: ModelSettings, window: ServerWindow | None) -> None:
    """Log a warning, once per endpoint, if the window is small, unless the settings request it."""
    size = window.size if window else None
    if window is None or size is None or size >= min(SMALL, endpoint.context_window or SMALL):
        return
    _get_watch(endpoint).warn(
        "window",
        "The model server at %s gives `%s` a context window of %s tokens, which leaves little room "
        "for work: long texts are shortened. %s.",
        get_address(endpoint),
        endpoint.model,
        f"{size:,}",
        advice_for(endpoint, window),
    )


async def check_reply(
    endpoint: ModelSettings,
    server: ModelServer,
    request: ModelRequest,
    reply: AIMessage,
    factor: float | None,
) -> ContextOverflowError | None:
    """Return an error if the server has dropped part of the request, otherwise None.

    `factor` calibrates the estimate of the request's tokens; None if there is none yet. If part of
    it seems to be missing and the server does not report its window, a warning is logged, once per
    endpoint.
    """
    watch = _get_watch(endpoint)
    estimate = request.estimate * (factor or 1.0)
    counted = _counted_tokens(request, reply)
    is_far_below = (
        counted is not None and estimate >= _MIN_COMPARED and counted < _FAR_BELOW * estimate
    )
    # a model that was not loaded before has its window now
    is_unknown = watch.window is not None and watch.window.size is None
    again = (is_unknown or is_far_below) and not watch.is_suspected
    watch.is_suspected |= again
    window = await look_up_window(endpoint, server, again=again) or ServerWindow(None)
    warn_of_small_window(endpoint, window)
    address = get_address(endpoint)
    sizes = f"about {estimate:,.0f} tokens were sent and {counted or 0:,} arrived"
    advice = advice_for(endpoint, window)
    if is_far_below and window.size is None:
        text = "The model server at %s seems to drop a part of long requests: %s. %s."
        watch.warn("window", text, address, sizes, advice)
    if counted is None or window.size is None:
        return None
    if not is_truncated(estimate, counted, window.size, is_exact=factor is not None):
        return None
    return ContextOverflowError(
        f"The model server at {address} gives `{endpoint.model}` a context window of "
        f"{window.size:,} tokens and dropped the rest: {sizes}. {advice}.",
        (endpoint.base_url, endpoint.model),
    )


def warn_of_calls_in_text(endpoint: ModelSettings) -> None:
    """Log a warning, once per endpoint, that the server does not parse the model's calls."""
    watch = _get_watch(endpoint)
    watch.warn(
        "calls",
        "The model server at %s does not parse the tool calls of `%s`: they arrive as text, and "
        "are read from there. To change that, %s.",
        get_address(endpoint),
        endpoint.model,
        (watch.window or ServerWindow(None)).advise("calls"),
    )


def advice_for(endpoint: ModelSettings, window: ServerWindow) -> str:
    """Return which setting to change for a larger window, as a sentence without its period."""
    provider = PROVIDERS[get_provider(endpoint.model)]
    if "context_window" in provider.names:
        return f"Set MANUS_CONTEXT_WINDOW={WANTED}: {provider.product} then gives the model that"
    advice = window.advise("window")
    return f"{advice[:1].upper()}{advice[1:]}"
