"""Ask a model server for the context window that it gives a model.

Servers run a model with a window of their own, often far below what the model was trained for, and
several of them silently drop what exceeds it. Endpoints that report it:

- `GET /v1/models`: vLLM and SGLang (`max_model_len`), OpenRouter, Groq, Mistral and others
- Ollama (docs.ollama.com/api): `GET /api/ps` for a loaded model (`context_length`), otherwise
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

from manus.models.tls import ssl_context

Json = dict[str, Any]

OLLAMA_ADDRESS = "http://127.0.0.1:11434"
_TIMEOUT = 3.0
"""Seconds for all requests to a server."""
_SIZES = (
    *("loaded_context_length", "max_model_len", "context_length", "context_window"),
    "max_context_length",
)
"""Names of the window in a list of models, the most exact name first."""
_MIN_SIZE = 256
"""Tokens; a smaller number is assumed to mean something else."""
_OWNERS = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llamacpp": "llama.cpp",
    "library": "Ollama",
    "organization_owner": "LM Studio",
}
"""Server products by the owner that they report for a model."""
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
_CALL_ADVICE = {
    "Ollama": "use a model whose page lists `tools`, or give its Modelfile a TEMPLATE with tools",
    "llama.cpp": "start llama-server with `--jinja`",
    "vLLM": "start vLLM with `--enable-auto-tool-choice --tool-call-parser PARSER`",
    "SGLang": "start SGLang with `--tool-call-parser PARSER`",
    "LM Studio": "load a build of the model that LM Studio marks for tool use",
}
_ANY_CALL_ADVICE = f"if the server is your own: {'; '.join(_CALL_ADVICE.values())}"
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
    """The context window of a model, as its server reports it."""

    size: int | None
    """In tokens; None if the server does not report it."""
    product: str = ""
    """The name of the server product, if it is known."""
    is_loaded: bool = True
    """False: the model is not loaded yet, and may get another window when it is."""

    @property
    def advice(self) -> str:
        """Return which setting of the server to change."""
        return _ADVICE.get(self.product, _ANY_SERVER).format(wanted=WANTED)

    @property
    def call_advice(self) -> str:
        """Return which setting makes the server parse tool calls."""
        return _CALL_ADVICE.get(self.product, _ANY_CALL_ADVICE)


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A model server, and the model to ask it about."""

    address: str
    """As in the settings, usually ending in `/v1`."""
    model: str
    key: str | None = None
    is_ollama: bool = False
    """Whether it is known to be Ollama, whose own protocol is used then."""

    @property
    def root(self) -> str:
        """Return the address without `/v1`."""
        return re.sub(r"/v\d+$", "", self.address.rstrip("/"))


def ollama_address() -> str:
    """Return the address that Ollama's clients use: OLLAMA_HOST, or the default port here."""
    address = os.environ.get("OLLAMA_HOST", "").strip()
    if not address:
        return OLLAMA_ADDRESS
    scheme, _, host = address.rpartition("://")
    host = host.replace("0.0.0.0", "127.0.0.1")
    has_port = re.search(r":\d+$", host) is not None
    if not has_port and scheme != "https":
        host = f"{host}:11434"
    return f"{scheme or 'http'}://{host}"


def _make_client(server: ModelServer) -> Any:
    """Return an HTTP client for a server. Blocking: it loads modules and certificates."""
    import httpx2

    headers = {}
    if server.key:
        headers["Authorization"] = f"Bearer {server.key}"
    is_tls = server.address.startswith("https:")
    return httpx2.AsyncClient(headers=headers, verify=ssl_context() if is_tls else False)


async def find_window(server: ModelServer) -> ServerWindow | None:
    """Ask a server for the window of a model; return None if it cannot be reached."""
    client = await asyncio.to_thread(_make_client, server)
    import httpx2  # already loaded by now

    try:
        async with asyncio.timeout(_TIMEOUT), client:
            return await _find(server, client)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError, ValueError):
        return None


async def _find(server: ModelServer, client: Any) -> ServerWindow:
    if server.is_ollama:
        window = await _ask_ollama(server, client)
        return window or ServerWindow(None, "Ollama", is_loaded=False)
    # raises if nothing can be reached; later requests tolerate servers that lack their path
    model_list = _parse_object(await client.get(f"{server.address.rstrip('/')}/models"))
    entry = _find_entry(model_list, server.model)
    product = _OWNERS.get(str(entry.get("owned_by")).lower(), "")
    size = _find_size(entry)
    if size is not None:
        return ServerWindow(size, product)
    if not (product or is_private(server.address)):
        return ServerWindow(None)
    windows = await asyncio.gather(
        _ask_ollama(server, client), _ask_llama_cpp(server, client), _ask_lm_studio(server, client)
    )
    for window in windows:
        if window is not None:
            return window
    return ServerWindow(None, product)


async def _ask_ollama(server: ModelServer, client: Any) -> ServerWindow | None:
    loaded = await _await_object(client.get(f"{server.root}/api/ps"))
    if not isinstance(loaded.get("models"), list):
        return None
    for entry in loaded["models"]:
        if isinstance(entry, dict) and _is_named(entry.get("name"), server.model):
            return ServerWindow(_as_size(entry.get("context_length")), "Ollama")
    body = {"model": server.model}
    details = await _await_object(client.post(f"{server.root}/api/show", json=body))
    num_ctx = _NUM_CTX.search(str(details.get("parameters")))
    size = _as_size(int(num_ctx[1])) if num_ctx else None
    return ServerWindow(size, "Ollama", is_loaded=False)


async def _ask_llama_cpp(server: ModelServer, client: Any) -> ServerWindow | None:
    properties = await _await_object(client.get(f"{server.root}/props"))
    settings = properties.get("default_generation_settings")
    if not isinstance(settings, dict):
        return None
    size = _as_size(settings.get("n_ctx"))
    return None if size is None else ServerWindow(size, "llama.cpp")


async def _ask_lm_studio(server: ModelServer, client: Any) -> ServerWindow | None:
    model_list = await _await_object(client.get(f"{server.root}/api/v0/models"))
    entry = _find_entry(model_list, server.model)
    if "max_context_length" not in entry:
        return None
    if entry.get("state") != "loaded":  # only its largest possible window is known
        return ServerWindow(None, "LM Studio", is_loaded=False)
    return ServerWindow(_find_size(entry), "LM Studio")


async def _await_object(response: Awaitable[Any]) -> Json:
    """Return the JSON object of a response; an empty one if the request fails."""
    import httpx2

    try:
        return _parse_object(await response)
    except httpx2.HTTPError:
        return {}


def _parse_object(response: Any) -> Json:
    """Return the JSON object of a response; an empty one for an error or any other body."""
    if response.status_code != 200:
        return {}
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _find_entry(model_list: Json, model: str) -> Json:
    """Return the entry of a model in a list; the only entry even under another name; else {}."""
    data = model_list.get("data")
    if not isinstance(data, list):
        return {}
    entries = [entry for entry in data if isinstance(entry, dict)]
    for entry in entries:
        if _is_named(entry.get("id"), model):
            return entry
    return entries[0] if len(entries) == 1 else {}


def _is_named(name: Any, model: str) -> bool:
    return str(name).lower() in (model.lower(), f"{model.lower()}:latest")


def _find_size(entry: Json) -> int | None:
    for name in _SIZES:
        size = _as_size(entry.get(name))
        if size is not None:
            return size
    meta = entry.get("meta")  # llama.cpp's
    if isinstance(meta, dict):
        return _as_size(meta.get("n_ctx"))
    return None


def _as_size(value: Any) -> int | None:
    """Return a number of tokens if it is plausible as a window, otherwise None."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if value >= _MIN_SIZE else None


def is_private(address: str) -> bool:
    """Return whether an address is on this machine or in a private network."""
    host = urlsplit(address).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))
