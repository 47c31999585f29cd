"""The context window that a model server gives a model, asked of the server itself.

Servers run a model with a window of their own, often far below what the model was trained for, and
several of them drop what is beyond it without an error. Where they say how large it is:

- `GET /v1/models`: vLLM and SGLang (`max_model_len`), OpenRouter, Groq, Mistral and others
- Ollama (docs.ollama.com/api): `GET /api/ps` for a model that is loaded (`context_length`), else
  `POST /api/show` (`num_ctx` among the parameters)
- llama.cpp (tools/server/README.md): `GET /props` (`default_generation_settings.n_ctx`)
- LM Studio (lmstudio.ai/docs/api/rest-api): `GET /api/v0/models` (`loaded_context_length`)
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from manus.models.providers import trust

Json = dict[str, Any]

OLLAMA_ADDRESS = "http://127.0.0.1:11434"
_TIMEOUT = 3.0
"""Seconds that a server has for all of these questions."""
_SIZES = (
    *("loaded_context_length", "max_model_len", "context_length", "context_window"),
    "max_context_length",
)
"""What the window is called in a list of models, the most exact name first."""
_LEAST = 256
"""Tokens below which a number is taken for something else."""
_OWNERS = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llamacpp": "llama.cpp",
    "library": "Ollama",
    "organization_owner": "LM Studio",
}
"""Products by what they call the owner of a model."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)
_ADVICE = {
    "Ollama": "start Ollama with OLLAMA_CONTEXT_LENGTH={wanted}, or give the model's Modelfile "
    "`PARAMETER num_ctx {wanted}`",
    "llama.cpp": "start llama-server with `-c {wanted}` (for each slot of `-np`)",
    "vLLM": "start vLLM with `--max-model-len {wanted}`",
    "SGLang": "start SGLang with `--context-length {wanted}`",
    "LM Studio": "load the model in LM Studio with a context length of {wanted} "
    "(`lms load MODEL --context-length {wanted}`)",
}
_ANY_SERVER = (
    "give the model a larger context window in the server's settings (Ollama: "
    "OLLAMA_CONTEXT_LENGTH or num_ctx; llama.cpp: -c; vLLM: --max-model-len; LM Studio: context "
    "length)"
)
SMALL = 16_000
"""Tokens of a window in which an agent has little room for work."""
WANTED = 32_768
"""Tokens that are enough for an agent's work, as advice."""


@dataclass(frozen=True, slots=True)
class ServerWindow:
    """What a server says of the window of a model."""

    size: int | None
    """In tokens; None if it does not say."""
    product: str = ""
    """The server's product, where it is known."""
    is_loaded: bool = True
    """False: the model is not loaded yet, and may get another window when it is."""

    @property
    def advice(self) -> str:
        """Which setting of the server to change."""
        return _ADVICE.get(self.product, _ANY_SERVER).format(wanted=WANTED)


@dataclass(frozen=True, slots=True)
class Server:
    """A model server, and the model that is meant."""

    address: str
    """As the settings have it, mostly with `/v1` at its end."""
    model: str
    key: str | None = None
    is_ollama: bool = False
    """Whether it is known to be one, and is asked in its own protocol."""

    @property
    def root(self) -> str:
        """The address without `/v1`."""
        return re.sub(r"/v\d+$", "", self.address.rstrip("/"))


def ollama_address() -> str:
    """Return where Ollama's clients look for it: OLLAMA_HOST, or its own port on this machine."""
    host = os.environ.get("OLLAMA_HOST", "").strip()
    if not host:
        return OLLAMA_ADDRESS
    scheme, _, place = host.rpartition("://")
    place = place.replace("0.0.0.0", "127.0.0.1")
    has_port = re.search(r":\d+$", place)
    return f"{scheme or 'http'}://{place if has_port or scheme == 'https' else f'{place}:11434'}"


def _make_client(server: Server) -> Any:
    """Return an HTTP client for a server. Blocking: it loads modules and certificates."""
    import httpx2

    fields = {"Authorization": f"Bearer {server.key}"} if server.key else {}
    is_tls = server.address.startswith("https:")
    return httpx2.AsyncClient(headers=fields, verify=trust() if is_tls else False)


async def find_window(server: Server) -> ServerWindow | None:
    """Ask a server for the window of a model; None where it cannot be reached."""
    client = await asyncio.to_thread(_make_client, server)
    import httpx2  # by now it is loaded

    try:
        async with asyncio.timeout(_TIMEOUT), client:
            return await _find(server, client)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError, ValueError):
        return None


async def _find(server: Server, client: Any) -> ServerWindow:
    if server.is_ollama:
        return await _of_ollama(server, client) or ServerWindow(None, "Ollama", is_loaded=False)
    # where nothing can be reached, this raises; a server that lacks the other paths is there
    listed = _object(await client.get(f"{server.address.rstrip('/')}/models"))
    entry = _entry_of(listed, server.model)
    product = _OWNERS.get(str(entry.get("owned_by")).lower(), "")
    if (size := _size_in(entry)) is not None:
        return ServerWindow(size, product)
    if not (product or is_private(server.address)):
        return ServerWindow(None)
    found = await asyncio.gather(
        _of_ollama(server, client), _of_llama_cpp(server, client), _of_lm_studio(server, client)
    )
    known = [window for window in found if window is not None]
    return known[0] if known else ServerWindow(None, product)


async def _of_ollama(server: Server, client: Any) -> ServerWindow | None:
    loaded = await _json(client.get(f"{server.root}/api/ps"))
    if not isinstance(loaded.get("models"), list):
        return None
    for entry in loaded["models"]:
        if isinstance(entry, dict) and _is_named(entry.get("name"), server.model):
            return ServerWindow(_number(entry.get("context_length")), "Ollama")
    model = {"model": server.model}
    about = await _json(client.post(f"{server.root}/api/show", json=model))
    given = _NUM_CTX.search(str(about.get("parameters")))
    return ServerWindow(_number(int(given[1])) if given else None, "Ollama", is_loaded=False)


async def _of_llama_cpp(server: Server, client: Any) -> ServerWindow | None:
    about = await _json(client.get(f"{server.root}/props"))
    settings = about.get("default_generation_settings")
    size = _number(settings.get("n_ctx")) if isinstance(settings, dict) else None
    return None if size is None else ServerWindow(size, "llama.cpp")


async def _of_lm_studio(server: Server, client: Any) -> ServerWindow | None:
    entry = _entry_of(await _json(client.get(f"{server.root}/api/v0/models")), server.model)
    if "max_context_length" not in entry:
        return None
    # of a model that is not loaded only the largest window is known: it says little
    is_loaded = entry.get("state") == "loaded"
    return ServerWindow(_size_in(entry) if is_loaded else None, "LM Studio", is_loaded=is_loaded)


async def _json(reply: Awaitable[Any]) -> Json:
    """Return the object of a reply; an empty one if there is none."""
    import httpx2

    try:
        return _object(await reply)
    except httpx2.HTTPError:
        return {}


def _object(answer: Any) -> Json:
    """Return the object of an answer; an empty one for an error, or for what is no object."""
    if answer.status_code != 200:
        return {}
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _entry_of(listed: Json, model: str) -> Json:
    """Return what a list of models says of one; of the only one where it has another name."""
    data = listed.get("data")
    entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    named = [entry for entry in entries if _is_named(entry.get("id"), model)]
    return next(iter(named or entries[: len(entries) == 1]), {})


def _is_named(name: Any, model: str) -> bool:
    return str(name).lower() in (model.lower(), f"{model.lower()}:latest")


def _size_in(entry: Json) -> int | None:
    sizes = (_number(entry.get(name)) for name in _SIZES)
    size = next(filter(None, sizes), None)
    meta = entry.get("meta")  # llama.cpp's
    return size or (_number(meta.get("n_ctx")) if isinstance(meta, dict) else None)


def _number(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and value >= _LEAST else None


def is_private(address: str) -> bool:
    """Return whether an address is on this machine or in a network of the user's own."""
    host = urlsplit(address).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))
