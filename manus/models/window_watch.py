"""Watch whether a model gets all that it is sent: servers with a small window drop the rest.

Before the first request a server is asked for the window (`server_window`); after each reply, what
it counted is compared with what was sent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from manus.config.model_settings import ModelSettings, split_spec
from manus.models.provider_packages import OLLAMA, OPENAI, package_of
from manus.models.providers import DEFAULT_MODEL, address_of
from manus.models.server_window import SMALL, Server, ServerWindow, find_window, ollama_address
from manus.models.tokens import cache_tokens, note_window
from manus.models.wrapped import chat_model_in
from manus.state.errors import ContextOverflowError
from manus.state.messages import is_image

log = logging.getLogger("manus")

_VALID_FOR = 60.0
"""Seconds after which a server is asked again: it may have been started anew."""
_UNKNOWN_FOR = 600.0
"""The same for a server that does not say."""
_AWAY_FOR = 60.0
"""The same for a server that has not answered: each attempt may cost a request its timeout."""
_FEWEST = 2_000
"""Estimated tokens below which nothing is compared."""
_FAR_BELOW = 0.5
"""Part of an estimate below which a count is far too low, where the window is not known."""
_SURE = 1.3
"""How many times the window an estimate must be to be too large however tokens are counted."""
_ROUGH = 0.7
_EXACT = 0.85
"""Parts of an estimate below which a count is too low for a request larger than the window: of a
rough estimate, and of one that is calibrated by the server's own counts."""

Place = tuple[str | None, str | None]
# What servers have said, and when, by address and model; and of which a warning was given.
_known: dict[Place, tuple[float, ServerWindow | None]] = {}
_warned: set[Place] = set()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was sent with a request, and what the server counted; in tokens."""

    sent: float
    """As estimated."""
    counted: int
    is_exact: bool
    """Whether the estimate is calibrated."""

    def exceeds(self, size: int) -> bool:
        """Return whether a server with a window of this size has dropped a part."""
        if self.counted > 1.02 * size:
            return False
        is_low = self.counted < (_EXACT if self.is_exact else _ROUGH) * self.sent
        return self.sent > _SURE * size or (self.sent > 1.05 * size and is_low)

    @property
    def is_far_below(self) -> bool:
        """Return whether so much less was counted that a part must have been dropped."""
        return self.sent >= _FEWEST and self.counted < _FAR_BELOW * self.sent


def compare(
    request: Sequence[BaseMessage], reply: AIMessage, estimate: float, factor: float | None
) -> Comparison | None:
    """Return what was sent and counted; None where the two cannot be compared.

    That is so for a server that counts nothing or counts without what it has cached, and for
    pictures, whose tokens each server counts in its own way.
    """
    usage = reply.usage_metadata
    if usage is None or not usage["input_tokens"]:
        return None
    cached, _ = cache_tokens(usage.get("input_token_details"))
    if cached or any(_has_image(message) for message in request):
        return None
    return Comparison(estimate * (factor or 1.0), usage["input_tokens"], factor is not None)


def _has_image(message: BaseMessage) -> bool:
    return isinstance(message.content, list) and any(map(is_image, message.content))


def server_of(endpoint: ModelSettings, given: Runnable[Any, Any] | None = None) -> Server | None:
    """Return the server of an endpoint that can be asked for a window; None for hosted providers.

    `given` is the caller's chat model that the endpoint stands for, if there is one.
    """
    provider, name = split_spec(endpoint.model or DEFAULT_MODEL)
    if given is not None:
        inner = chat_model_in(given)
        if package_of(inner) is OLLAMA:
            provider = "ollama"
        elif package_of(inner) is not OPENAI:
            return None
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else None
    if provider == "ollama":
        return Server(endpoint.base_url or ollama_address(), name, key, is_ollama=True)
    is_own = urlsplit(endpoint.base_url or "").hostname in (None, "api.openai.com")
    if provider != "openai" or endpoint.base_url is None or is_own:
        return None
    return Server(endpoint.base_url, name, key)


async def look_up_window(
    endpoint: ModelSettings, given: Runnable[Any, Any] | None = None, *, again: bool = False
) -> ServerWindow | None:
    """Return what the server of an endpoint says of its window, and remember it.

    `again`: ask it once more, though it was asked a moment ago.
    """
    server = server_of(endpoint, given)
    if server is None:
        return None
    place = (endpoint.base_url, endpoint.model)
    now = time.monotonic()
    at, known = _known.get(place, (0.0, None))
    if place in _known and now - at < _validity(known) and not again:
        return known
    found = await find_window(server)
    if found is None:
        _known[place] = now, known
        return known
    _known[place] = now, found
    if found.size is not None:
        note_window(endpoint, found.size)
    return found


def _validity(window: ServerWindow | None) -> float:
    """Return how many seconds an answer holds; None stands for a server that gave none."""
    if window is None:
        return _AWAY_FOR
    return _UNKNOWN_FOR if window.size is None else _VALID_FOR


def warn_of_small_window(endpoint: ModelSettings, window: ServerWindow | None) -> None:
    """Log a warning, once for each endpoint, if its server leaves an agent little room.

    Nobody is warned of a window that the settings have themselves.
    """
    place = endpoint.base_url, endpoint.model
    size = window.size if window is not None else None
    if window is None or size is None or size >= SMALL or place in _warned:
        return
    if endpoint.context_window is not None and endpoint.context_window <= size:
        return
    _warned.add(place)
    log.warning(
        "The model server at %s gives `%s` a context window of %s tokens, which leaves little room "
        "for work: long texts are shortened. %s.",
        address_of(endpoint),
        endpoint.model,
        f"{size:,}",
        advice_for(endpoint, window),
    )


async def check_reply(
    endpoint: ModelSettings, given: Runnable[Any, Any] | None, compared: Comparison | None
) -> ContextOverflowError | None:
    """Return the error that a reply to a part of a request means; None if all has arrived.

    Where a part seems to be missing and the server does not say how large its window is, a warning
    is logged, once for each endpoint.
    """
    if server_of(endpoint, given) is None:
        return None
    place = endpoint.base_url, endpoint.model
    known = _known.get(place, (0.0, None))[1]
    is_far_below = compared is not None and compared.is_far_below
    # a model that was not loaded before has its window now
    again = is_far_below or (known is not None and not known.is_loaded)
    window = await look_up_window(endpoint, given, again=again)
    warn_of_small_window(endpoint, window)
    if window is not None and not window.is_loaded:  # it will not say more after the next reply
        _known[place] = time.monotonic(), replace(window, is_loaded=True)
    size = window.size if window is not None else None
    if compared is None:
        return None
    if size is not None and window is not None:
        if not compared.exceeds(size):
            return None
        return ContextOverflowError(
            f"The model server at {address_of(endpoint)} gives `{endpoint.model}` a context window "
            f"of {size:,} tokens and dropped the rest: about {compared.sent:,.0f} tokens were sent "
            f"and {compared.counted:,} arrived. {advice_for(endpoint, window)}.",
            place,
        )
    if is_far_below and place not in _warned:
        _warned.add(place)
        log.warning(
            "The model server at %s counted %s tokens where about %s were sent: it seems to drop "
            "the rest. %s.",
            address_of(endpoint),
            f"{compared.counted:,}",
            f"{compared.sent:,.0f}",
            advice_for(endpoint, window or ServerWindow(None)),
        )
    return None


def advice_for(endpoint: ModelSettings, window: ServerWindow) -> str:
    """Return which setting to change for a larger window, as a sentence without its full stop."""
    if split_spec(endpoint.model or "")[0] == "ollama":
        return "Set MANUS_CONTEXT_WINDOW=32768: Ollama then gives the model that much"
    return f"{window.advice[:1].upper()}{window.advice[1:]}"
