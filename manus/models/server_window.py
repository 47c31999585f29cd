"""Ask a model server for the context window that it gives a model.

Servers run a model with a window of their own, often far below what the model was trained for, and
several of them silently drop what exceeds it. Most report it in their list of models
(`GET /v1/models`), others at an address of their own (`PRODUCTS` in the table of providers).
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from manus.config.provider_table import PRODUCTS, ServerProduct
from manus.models.tls import ssl_context

Json = dict[str, Any]

_TIMEOUT = 3.0
"""Seconds for all requests to a server."""
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


@dataclass(frozen=True, slots=True)
class ServerWindow:
    """The context window of a model, as its server reports it."""

    size: int | None
    """In tokens; None if the server does not report it."""
    product: str = ""
    """The name of the server product, if it is known."""

    def advise(self, field: str) -> str:
        """Return which setting of the server to change, for its `window` or for `calls`."""
        products = [PRODUCTS[self.product]] if self.product else PRODUCTS.values()
        settings = "; ".join(getattr(product, field) for product in products)
        prefix = "" if self.product else "if the server is your own: "
        return prefix + settings.format(wanted=WANTED)


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A model server, and the model to ask it about."""

    address: str
    """As in the settings, usually ending in `/v1`."""
    model: str
    key: str | None = None
    product: str = ""
    """The product whose own protocol is used, if any."""


def local_address(product: ServerProduct) -> str:
    """Return the address of a product on this machine, or the one in its variable."""
    scheme, _, host = os.environ.get(product.variable, "").strip().rpartition("://")
    host = host.replace("0.0.0.0", "127.0.0.1") or "127.0.0.1"
    if scheme != "https" and not re.search(r":\d+$", host):
        host = f"{host}:{product.port}"
    return f"{scheme or 'http'}://{host}"


async def find_window(server: ModelServer) -> ServerWindow | None:
    """Ask a server for the window of a model; return None if it cannot be reached."""
    client = await asyncio.to_thread(_make_client, server)
    import httpx2  # already loaded by now

    try:
        async with asyncio.timeout(_TIMEOUT), client:
            return await _find(server, client)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError, ValueError):
        return None


def _make_client(server: ModelServer) -> Any:
    """Return an HTTP client for a server. Blocking: it loads modules and certificates."""
    import httpx2

    headers = {"Authorization": f"Bearer {server.key}"} if server.key else {}
    is_tls = server.address.startswith("https:")
    return httpx2.AsyncClient(headers=headers, verify=ssl_context() if is_tls else False)


async def _find(server: ModelServer, client: Any) -> ServerWindow:
    if server.product:
        window = await _probe(server, client, server.product)
        return window or ServerWindow(None, server.product)
    # raises if nothing can be reached; later requests tolerate servers that lack their path
    model_list = _parse_object(await client.get(f"{server.address.rstrip('/')}/models"))
    entry = _find_entry(model_list.get("data"), server.model) or {}
    owner = str(entry.get("owned_by")).lower()
    product = next((name for name, each in PRODUCTS.items() if each.owner == owner), "")
    meta = entry.get("meta")
    for holder in (entry, meta if isinstance(meta, dict) else {}):
        for size in filter(None, (_as_size(holder.get(name)) for name in _SIZES)):
            return ServerWindow(size, product)
    if product or is_private(server.address):
        names = [name for name in PRODUCTS if PRODUCTS[name].probe]
        windows = await asyncio.gather(*(_probe(server, client, name) for name in names))
        return next(filter(None, windows), ServerWindow(None, product))
    return ServerWindow(None)


async def _probe(server: ModelServer, client: Any, product: str) -> ServerWindow | None:
    """Return the window that a product reports at an address of its own; None if it is another."""
    import httpx2

    path, place, name = PRODUCTS[product].probe or ("", "", "")
    root = re.sub(r"/v\d+$", "", server.address.rstrip("/"))
    try:
        holder = _parse_object(await client.get(f"{root}{path}")).get(place)
    except httpx2.HTTPError:
        return None
    if not isinstance(holder, dict | list):
        return None
    entry = holder if isinstance(holder, dict) else _find_entry(holder, server.model) or {}
    return ServerWindow(_as_size(entry.get(name)), product)


def _parse_object(response: Any) -> Json:
    """Return the JSON object of a response; an empty one for an error or any other body."""
    try:
        body = response.json() if response.status_code == 200 else None
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


def _find_entry(entries: Any, model: str) -> Json | None:
    """Return the entry of a model; the only entry even under another name."""
    found = [entry for entry in entries if isinstance(entry, dict)] if entries else []
    names = (model.lower(), f"{model.lower()}:latest")
    for entry in found:
        if str(entry.get("id") or entry.get("name")).lower() in names:
            return entry
    return found[0] if len(found) == 1 else None


def _as_size(value: Any) -> int | None:
    """Return a number of tokens if it is plausible as a window, otherwise None."""
    is_size = isinstance(value, int) and not isinstance(value, bool) and value >= _MIN_SIZE
    return value if is_size else None


def is_private(address: str) -> bool:
    """Return whether an address is on this machine or in a private network."""
    host = urlsplit(address).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))
