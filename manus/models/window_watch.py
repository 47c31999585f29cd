"""Detect servers that silently drop part of the request because of a small context window.

Also warns of servers that return tool calls as text.

Before the first request, the server is asked for its window (`server_window`); after each reply,
the tokens that it counted are compared with those sent.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage

from manus.config.model_settings import ModelSettings, split_spec
from manus.models.endpoint_call import ModelRequest
from manus.models.providers import DEFAULT_MODEL, get_address
from manus.models.server_window import SMALL, ModelServer, ServerWindow, find_window, ollama_address
from manus.models.tokens import cache_tokens, note_window
from manus.state.errors import ContextOverflowError

log = logging.getLogger("manus")

_VALID_FOR = 60.0
"""Seconds after which a server is asked again: it may have been restarted."""
_UNKNOWN_FOR = 600.0
"""The same for a server that does not report its window."""
_UNAVAILABLE_FOR = 60.0
"""The same for a server that did not answer: each attempt may cost a request its timeout."""
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

EndpointKey = tuple[str | None, str | None]
# By address and model: until when the last answer is valid, and its window; endpoints warned of.
_windows: dict[EndpointKey, tuple[float, ServerWindow | None]] = {}
_warned: set[EndpointKey] = set()
_warned_of_calls: set[EndpointKey] = set()
# When a server was last asked again because its count was far too low.
_asked_again: dict[EndpointKey, float] = {}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The estimated tokens of a request, and those that the server counted."""

    estimate: float
    counted: int
    is_exact: bool
    """Whether the estimate is calibrated."""

    def exceeds(self, size: int) -> bool:
        """Return whether a server with a window of `size` tokens has dropped anything."""
        if self.counted > 1.02 * size:
            return False
        if self.estimate > _SURE * size:
            return True
        threshold = _EXACT if self.is_exact else _ROUGH
        is_low = self.counted < threshold * self.estimate
        return is_low and self.estimate > 1.05 * size

    @property
    def is_far_below(self) -> bool:
        """Return whether the count is so low that part of the request must have been dropped."""
        return self.estimate >= _MIN_COMPARED and self.counted < _FAR_BELOW * self.estimate


def compare(request: ModelRequest, reply: AIMessage, factor: float | None) -> Comparison | None:
    """Return the tokens sent and counted; None if the two cannot be compared.

    They cannot if the server reports no count or omits cached tokens, or if there are images, whose
    tokens each server counts in its own way.
    """
    usage = reply.usage_metadata
    if usage is None or not usage["input_tokens"]:
        return None
    cached, _ = cache_tokens(usage.get("input_token_details"))
    if cached or request.has_images:
        return None
    return Comparison(request.estimate * (factor or 1.0), usage["input_tokens"], factor is not None)


def find_server(endpoint: ModelSettings) -> ModelServer | None:
    """Return the server of an endpoint that reports its window; None for hosted providers."""
    provider, name = split_spec(endpoint.model or DEFAULT_MODEL)
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else None
    if provider == "ollama":
        return ModelServer(endpoint.base_url or ollama_address(), name, key, is_ollama=True)
    is_own = urlsplit(endpoint.base_url or "").hostname in (None, "api.openai.com")
    if provider != "openai" or endpoint.base_url is None or is_own:
        return None
    return ModelServer(endpoint.base_url, name, key)


async def look_up_window(
    endpoint: ModelSettings, server: ModelServer, *, again: bool = False
) -> ServerWindow | None:
    """Return the window that the server of an endpoint reports; cache it for a while.

    `again`: ask even if there is a cached answer.
    """
    key = (endpoint.base_url, endpoint.model)
    valid_until, cached = _windows.get(key, (-math.inf, None))
    if time.monotonic() < valid_until and not again:
        return cached
    window = await find_window(server)
    if window is None:
        _store_window(key, cached)
        return cached  # the server is unavailable; the model call reports that
    _store_window(key, window)
    if window.size is not None:
        note_window(endpoint, window.size)
    return window


def _store_window(key: EndpointKey, window: ServerWindow | None) -> None:
    """Cache an answer as long as it is valid; None means no answer."""
    seconds = _VALID_FOR
    if window is None:
        seconds = _UNAVAILABLE_FOR
    elif window.size is None:
        seconds = _UNKNOWN_FOR
    _windows[key] = (time.monotonic() + seconds, window)


def warn_of_small_window(endpoint: ModelSettings, window: ServerWindow | None) -> None:
    """Log a warning, once per endpoint, if the window is small for an agent.

    A window that the settings request causes no warning.
    """
    key = (endpoint.base_url, endpoint.model)
    if window is None or key in _warned:
        return
    size = window.size
    if size is None or size >= SMALL:
        return
    if endpoint.context_window is not None and endpoint.context_window <= size:
        return
    _warned.add(key)
    log.warning(
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
    comparison = compare(request, reply, factor)
    key = (endpoint.base_url, endpoint.model)
    _, cached = _windows.get(key, (0.0, None))
    is_far_below = comparison is not None and comparison.is_far_below
    # a model that was not loaded before has its window now
    again = cached is not None and not cached.is_loaded
    if is_far_below and time.monotonic() - _asked_again.get(key, -_VALID_FOR) >= _VALID_FOR:
        _asked_again[key] = time.monotonic()
        again = True
    window = await look_up_window(endpoint, server, again=again)
    warn_of_small_window(endpoint, window)
    if window is not None and not window.is_loaded:  # asking again after each reply is useless
        _store_window(key, replace(window, is_loaded=True))
    if comparison is None:
        return None
    if window is None or window.size is None:
        if is_far_below:
            _warn_of_dropped_part(endpoint, comparison, window)
        return None
    if not comparison.exceeds(window.size):
        return None
    return ContextOverflowError(
        f"The model server at {get_address(endpoint)} gives `{endpoint.model}` a context window of "
        f"{window.size:,} tokens and dropped the rest: about {comparison.estimate:,.0f} tokens "
        f"were sent and {comparison.counted:,} arrived. {advice_for(endpoint, window)}.",
        key,
    )


def warn_of_calls_in_text(endpoint: ModelSettings) -> None:
    """Log a warning, once per endpoint, that the server does not parse the model's calls."""
    key = (endpoint.base_url, endpoint.model)
    if key in _warned_of_calls:
        return
    _warned_of_calls.add(key)
    _, window = _windows.get(key, (0.0, None))
    log.warning(
        "The model server at %s does not parse the tool calls of `%s`: they arrive as text, and "
        "are read from there. To change that, %s.",
        get_address(endpoint),
        endpoint.model,
        (window or ServerWindow(None)).call_advice,
    )


def _warn_of_dropped_part(
    endpoint: ModelSettings, comparison: Comparison, window: ServerWindow | None
) -> None:
    """Log a warning, once per endpoint."""
    key = (endpoint.base_url, endpoint.model)
    if key in _warned:
        return
    _warned.add(key)
    log.warning(
        "The model server at %s counted %s tokens where about %s were sent: it seems to drop "
        "the rest. %s.",
        get_address(endpoint),
        f"{comparison.counted:,}",
        f"{comparison.estimate:,.0f}",
        advice_for(endpoint, window or ServerWindow(None)),
    )


def advice_for(endpoint: ModelSettings, window: ServerWindow) -> str:
    """Return which setting to change for a larger window, as a sentence without its period."""
    if split_spec(endpoint.model or "")[0] == "ollama":
        return "Set MANUS_CONTEXT_WINDOW=32768: Ollama then gives the model that much"
    return f"{window.advice[:1].upper()}{window.advice[1:]}"
