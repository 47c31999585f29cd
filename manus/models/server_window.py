"""The context window that a model server gives a model, and servers that drop what exceeds it.

Servers run a model with a window of their own, often far below what the model was trained for, and
several of them silently drop what exceeds it. Most report it in their list of models
(`GET /v1/models`), others at an address of their own (`PRODUCTS` in the table of providers). After
each reply, the tokens that the server counted are compared with those sent.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
import os
import re
import time
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage

from manus.config.model_settings import ModelSettings, get_provider, split_spec
from manus.config.provider_table import (
    DEFAULT_ADDRESS,
    DEFAULT_MODEL,
    DEFAULT_PROVIDER,
    PRODUCTS,
    PROVIDERS,
    ServerProduct,
)
from manus.models.model_request import ModelRequest
from manus.models.providers import get_address
from manus.models.tls import ssl_context
from manus.models.tokens import cache_tokens, note_window
from manus.state.errors import ContextOverflowError

log = logging.getLogger("manus")

_TIMEOUT = 3.0
"""Seconds for all requests to a server."""
_VALID_FOR = 120.0
"""Seconds after which a server is asked again: it may have been restarted."""
_SIZES = (
    *("loaded_context_length", "max_model_len", "context_length", "context_window"),
    *("max_context_length", "n_ctx"),
)
"""Names of the window in a list of models, the most exact name first."""
_MIN_SIZE = 256
"""Tokens; a smaller number is assumed to mean something else."""
SMALL = 16_000
"""Tokens of a window in which an agent has little room for work."""
WANTED = 32_768
"""Tokens that are enough for an agent's work, as advice."""
_MIN_COMPARED = 2_000
"""Estimated tokens below which nothing is compared."""


class ServerWindow(NamedTuple):
    """The context window of a model, as its server reports it."""

    size: int | None = None
    """In tokens; None if the server does not report it."""
    product: str = ""
    """The name of the server product, if it is known."""

    def advise(self, field: str) -> str:
        """Return which setting of the server to change, for its `window` or for `calls`."""
        products = [PRODUCTS[self.product]] if self.product else PRODUCTS.values()
        settings = "; ".join(getattr(product, field) for product in products)
        prefix = "" if self.product else "if the server is your own: "
        return prefix + settings.format(wanted=WANTED)


def advise_window(endpoint: ModelSettings, window: ServerWindow) -> str:
    """Return which setting to change for a larger window, as a sentence without its period."""
    provider = PROVIDERS[get_provider(endpoint.model)]
    if "context_window" in provider.names:
        return f"Set MANUS_CONTEXT_WINDOW={WANTED}: {provider.product} then gives the model that"
    advice = window.advise("window")
    return f"{advice[:1].upper()}{advice[1:]}"


def local_address(product: ServerProduct) -> str:
    """Return the address of a product on this machine, or the one in its variable."""
    scheme, _, host = os.environ.get(product.variable, "").strip().rpartition("://")
    host = host.replace("0.0.0.0", "127.0.0.1") or "127.0.0.1"
    if scheme != "https" and not re.search(r":\d+$", host):
        host = f"{host}:{product.port}"
    return f"{scheme or 'http'}://{host}"


def is_private(address: str) -> bool:
    """Return whether an address is on this machine or in a private network."""
    host = urlsplit(address).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))


def _find_address(endpoint: ModelSettings) -> str | None:
    """Return the address of a server that may report its window; None for hosted providers."""
    provider = get_provider(endpoint.model)
    if product := PROVIDERS[provider].product:
        return endpoint.base_url or local_address(PRODUCTS[product])
    host = urlsplit(endpoint.base_url or "").hostname
    is_compatible = provider == DEFAULT_PROVIDER and host != urlsplit(DEFAULT_ADDRESS).hostname
    return endpoint.base_url if is_compatible and host else None


async def find_window(endpoint: ModelSettings) -> ServerWindow | None:
    """Ask a server for the window of a model; return None if it cannot be reached."""
    address = (_find_address(endpoint) or "").rstrip("/")
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else ""
    client = await asyncio.to_thread(_make_client, address, key)
    import httpx2  # already loaded by now

    try:
        async with asyncio.timeout(_TIMEOUT), client:
            return await _find(endpoint, address, client)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError):
        return None


def _make_client(address: str, key: str) -> Any:
    """Return an HTTP client for a server. Blocking: it loads modules and certificates."""
    import httpx2

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    is_tls = address.startswith("https:")
    return httpx2.AsyncClient(headers=headers, verify=ssl_context() if is_tls else False)


async def _find(endpoint: ModelSettings, address: str, client: Any) -> ServerWindow:
    provider, model = split_spec(endpoint.model or DEFAULT_MODEL)
    product = PROVIDERS[provider].product
    names = [product]
    if not product:
        # raises if nothing can be reached; later requests tolerate servers that lack their path
        models = _parse_object(await client.get(f"{address}/models"))
        entry = _find_entry(models.get("data"), model)
        owner = str(entry.get("owned_by")).lower()
        product = next((name for name, each in PRODUCTS.items() if each.owner == owner), "")
        size = next(filter(None, (_as_size(entry.get(name)) for name in _SIZES)), None)
        if size or not (product or is_private(address)):
            return ServerWindow(size, product)
        names = [name for name in PRODUCTS if PRODUCTS[name].probe]
    root = re.sub(r"/v\d+$", "", address)
    windows = await asyncio.gather(*(_probe(root, model, client, name) for name in names))
    return next(filter(None, windows), ServerWindow(None, product))


async def _probe(root: str, model: str, client: Any, product: str) -> ServerWindow | None:
    """Return the window that a product reports at an address of its own; None if it is another."""
    import httpx2

    path, key, name = PRODUCTS[product].probe or ("", "", "")
    try:
        holder = _parse_object(await client.get(f"{root}{path}")).get(key)
    except httpx2.HTTPError:
        return None
    if not isinstance(holder, dict | list):
        return None
    entry = holder if isinstance(holder, dict) else _find_entry(holder, model)
    return ServerWindow(_as_size(entry.get(name)), product)


def _parse_object(response: Any) -> dict[str, Any]:
    """Return the JSON object of a response; an empty one for an error or any other body."""
    try:
        body = response.json() if response.status_code == 200 else None
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


def _find_entry(entries: Any, model: str) -> dict[str, Any]:
    """Return the entry of a model; the only entry even under another name; else an empty one."""
    objects = [entry for entry in entries or () if isinstance(entry, dict)]
    names = (model.lower(), f"{model.lower()}:latest")
    for entry in objects:
        if str(entry.get("id") or entry.get("name")).lower() in names:
            return entry
    return objects[0] if len(objects) == 1 else {}


def _as_size(value: Any) -> int | None:
    """Return a number of tokens if it is plausible as a window, otherwise None."""
    return value if isinstance(value, int) and value >= _MIN_SIZE else None


def is_truncated(estimate: float, counted: int, size: int, *, is_exact: bool) -> bool:
    """Return whether a server with a window of `size` tokens has dropped a part of a request.

    `is_exact`: the estimate is calibrated by the server's own counts. Beyond 1.3 windows, an
    estimate is too large for any method of counting.
    """
    is_low = counted < (0.85 if is_exact else 0.7) * estimate
    is_beyond = estimate > 1.3 * size or (is_low and estimate > 1.05 * size)
    return is_beyond and counted <= 1.02 * size


def _count_tokens(request: ModelRequest, reply: AIMessage) -> int:
    """Return the tokens of the request as the server counted them; 0 if they cannot be compared.

    They cannot if the server omits cached tokens, or if there are images, whose tokens each server
    counts in its own way.
    """
    usage = reply.usage_metadata
    if usage is None or request.has_images or cache_tokens(usage.get("input_token_details"))[0]:
        return 0
    return usage["input_tokens"]


class WindowWatch:
    """What is known of the window of an endpoint, and what the user has been told about it."""

    def __init__(self, endpoint: ModelSettings) -> None:
        self._endpoint = endpoint
        self._server = f"The model server at {get_address(endpoint)}"
        self._window: ServerWindow | None = None
        self._has_address = _find_address(endpoint) is not None
        self._asked_at = -math.inf
        self._is_suspected = False
        """Whether the server was asked again because its count was far too low."""
        self._warnings: set[str] = set()

    async def look_up(self, *, again: bool = False) -> ServerWindow:
        """Return the window that the server reports; `again`: ask even if it is known.

        The answer is cached for a while. Log a warning if the window is small, unless the settings
        request it.
        """
        endpoint = self._endpoint
        is_old = time.monotonic() - self._asked_at > _VALID_FOR
        if self._has_address and (again or is_old):
            self._asked_at = time.monotonic()
            # if the server is unavailable, the model call reports that
            self._window = await find_window(endpoint) or self._window
        window = self._window or ServerWindow()
        if window.size is not None:
            note_window(endpoint, window.size)
            if window.size < min(SMALL, endpoint.context_window or SMALL):
                self._warn(
                    f"gives `{endpoint.model}` a context window of {window.size:,} tokens, which "
                    "leaves little room for work: long texts are shortened. "
                    f"{advise_window(endpoint, window)}.",
                    "window",
                )
        return window

    async def check_reply(
        self, request: ModelRequest, reply: AIMessage, factor: float | None
    ) -> ContextOverflowError | None:
        """Return an error if the server has dropped part of the request, otherwise None.

        `factor` calibrates the estimate of the request's tokens; None if there is none yet. If part
        of it seems to be missing and the server does not report its window, log a warning.
        """
        if not self._has_address:
            return None
        estimate = request.estimate * (factor or 1.0)
        counted = _count_tokens(request, reply)
        is_far_below = 0 < counted < 0.5 * estimate and estimate >= _MIN_COMPARED
        # a model that was not loaded before has its window now
        is_unknown = self._window is not None and self._window.size is None
        again = (is_unknown or is_far_below) and not self._is_suspected
        self._is_suspected |= again
        window = await self.look_up(again=again)
        sizes = f"about {estimate:,.0f} tokens were sent and {counted:,} arrived"
        advice = advise_window(self._endpoint, window)
        if window.size is None:
            if is_far_below:
                text = f"seems to drop a part of long requests: {sizes}. {advice}."
                self._warn(text, "window")
            return None
        is_exact = factor is not None
        if not (counted and is_truncated(estimate, counted, window.size, is_exact=is_exact)):
            return None
        return ContextOverflowError(
            f"{self._server} gives `{self._endpoint.model}` a context window of {window.size:,} "
            f"tokens and dropped the rest: {sizes}. {advice}.",
            (self._endpoint.base_url, self._endpoint.model),
        )

    def warn_of_calls_in_text(self) -> None:
        """Log a warning, once, that the server does not parse the model's calls."""
        advice = (self._window or ServerWindow()).advise("calls")
        self._warn(
            f"does not parse the tool calls of `{self._endpoint.model}`: they arrive as text, and "
            f"are read from there. To change that, {advice}.",
            "calls",
        )

    def _warn(self, text: str, kind: str) -> None:
        """Log a warning about the server, once per kind."""
        if kind not in self._warnings:
            self._warnings.add(kind)
            log.warning("%s %s", self._server, text)


@lru_cache(64)
def watch_window(endpoint: ModelSettings) -> WindowWatch:
    """Return the watch of an endpoint, which all runs share."""
    return WindowWatch(endpoint)
