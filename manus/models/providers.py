"""Providers of models: what is known of them without asking, and the chat model of an endpoint.

Packages are imported when they are used. Their clients are told not to try again by themselves:
that is done in one place, for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manus.config.model_settings import (
    ModelSettings,
    check_name,
    provider_of,
    shown_address,
    split_spec,
)
from manus.models.package_models import CONNECT_TIMEOUT, from_package
from manus.models.provider_packages import OTHER, PACKAGES
from manus.state.errors import SettingsError
from manus.state.text import one_line

if TYPE_CHECKING:
    import ssl

    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

DEFAULT_MODEL = "gpt-5"
"""Where a key is set and no model is named."""
REPLAY = "replay:"
NOT_CONFIGURED = (
    "No model is configured: run `manus setup`, or set OPENAI_API_KEY, or MANUS_MODEL and "
    "MANUS_BASE_URL for any compatible server; `manus demo` needs none."
)
_KEYS = {
    "openai": "MANUS_API_KEY or OPENAI_API_KEY",
    "azure": "MANUS_API_KEY",
    "bedrock": "the AWS credentials (or MANUS_API_KEY) and the account's access to the model",
}
Models = tuple[dict[ModelSettings, "BaseChatModel"], asyncio.Lock]
# Runs of one loop share them. A client's connections know their loop: weak keys would keep both.
_kept: dict[asyncio.AbstractEventLoop, tuple[Models, AsyncGenerator[Models]]] = {}


def key_of(model: str) -> str:
    """Return where the key of a model's provider is set, as errors say it."""
    provider = provider_of(model)
    package = PACKAGES.get(provider, OTHER)
    return _KEYS.get(provider) or package.key_names


def is_configured(settings: ModelSettings) -> bool:
    """Whether there is enough to ask a model."""
    return bool(settings.model or settings.api_key)


def address_of(settings: ModelSettings) -> str:
    """Where the model is asked, for messages."""
    provider, _ = split_spec(settings.model or DEFAULT_MODEL)
    return shown_address(settings.base_url) if settings.base_url else f"{provider}'s own address"


async def build_model(settings: ModelSettings, workspace: Path) -> BaseChatModel:
    """The chat model that the settings name.

    Raises:
        SettingsError: none is configured, a recording cannot be read, or a package is missing.
    """
    if not is_configured(settings):
        raise SettingsError(NOT_CONFIGURED)
    spec = settings.model or DEFAULT_MODEL
    try:
        check_name(spec)
    except ValueError as error:
        raise SettingsError(f"The model cannot be asked: {error}.") from None
    if spec.startswith(REPLAY):
        from manus.models.recording import ReplayModel

        path = spec.removeprefix(REPLAY)
        return await asyncio.to_thread(ReplayModel.load, path, str(workspace))
    known, building = await _models_of_loop()
    async with building:  # many runs that begin at once share one
        if settings not in known:
            # imports take a second and read files: not on the event loop
            known[settings] = await asyncio.to_thread(_build, settings, *split_spec(spec))
    return known[settings]


def name_of(model: str | Runnable[Any, Any]) -> str:
    """Return what a model is called: the name itself, or that of a caller's chat model.

    Raises:
        SettingsError: it is no chat model.
    """
    if isinstance(model, str):
        return model
    from manus.models.wrapped import chat_model_in

    inner = chat_model_in(model)
    name = getattr(inner, "model_name", None) or getattr(inner, "model", None)
    return str(name or type(inner).__name__)


def endpoint_of(model: Runnable[Any, Any], settings: ModelSettings) -> ModelSettings:
    """Return the endpoint that stands for a chat model that the caller has made."""
    from manus.models.wrapped import chat_model_in

    inner = chat_model_in(model)
    address = getattr(inner, "openai_api_base", None) or getattr(inner, "base_url", None)
    values = {"model": name_of(model), "base_url": address if isinstance(address, str) else None}
    return settings.model_copy(update={"api_key": None, "fallback": (), **values})


async def _models_of_loop() -> Models:
    """The models that were made for the running loop, and the lock to make another one under."""
    loop = asyncio.get_running_loop()
    if loop not in _kept:
        keeper = _keeper(loop)
        _kept[loop] = await anext(keeper), keeper
    return _kept[loop][0]


async def _keeper(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[Models]:
    """Stays open until the loop shuts its generators down, the last thing that it does."""
    models: dict[ModelSettings, BaseChatModel] = {}
    try:
        yield models, asyncio.Lock()
    finally:
        # only OpenAI's clients belong to one model alone: those of other packages share parts
        for settings, model in list(models.items()):
            if (client := getattr(model, "root_async_client", None)) is not None:
                del models[settings]
                with contextlib.suppress(Exception):  # anyio has its own; the rest are closed too
                    await client.close()
        if not models:
            _kept.pop(loop, None)


def _build(settings: ModelSettings, provider: str, name: str) -> BaseChatModel:
    names = {"temperature", "max_tokens", "api_key", "base_url", "reasoning_effort"}
    values: dict[str, Any] = settings.model_dump(include=names, exclude_none=True)
    if provider in PACKAGES:
        return from_package(settings, provider, name)
    from openai import DefaultAsyncHttpxClient, Timeout

    timeout = Timeout(settings.timeout, connect=min(settings.timeout, CONNECT_TIMEOUT))
    try:
        client = DefaultAsyncHttpxClient(timeout=timeout, verify=trust())
    except (OSError, ValueError, ImportError) as error:
        raise SettingsError(
            "No model server can be asked; check SSL_CERT_FILE, SSL_CERT_DIR and the proxies that "
            f"the environment names ({one_line(str(error), 300)})."
        ) from error
    values |= {
        "timeout": timeout,
        "max_retries": 0,
        # usage has to be asked for where the address is not OpenAI's
        "stream_usage": True,
        "http_async_client": client,
        "http_socket_options": (),  # with its own it would warn that these hide a proxy
        # comments that keep a connection open are no part of a reply
        "stream_chunk_timeout": settings.timeout,
    }
    return (_azure if provider == "azure" else _openai)(settings, name, values)


def trust() -> ssl.SSLContext:
    """Which certificates are trusted. To read them takes 30 ms."""
    return _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(8)
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


def _openai(settings: ModelSettings, name: str, values: dict[str, Any]) -> BaseChatModel:
    from manus.models.openai_chat import FastChatOpenAI

    if settings.api_key is None and settings.base_url is None:
        raise SettingsError(NOT_CONFIGURED)
    # a local server wants no key, the client wants one; given as a function, it keeps the client
    # from being built a second time for synchronous use
    key = settings.api_key.get_secret_value() if settings.api_key else "none"

    async def later() -> str:
        return key

    values |= {"api_key": later, "model": name}
    if settings.base_url is not None:
        # a compatible server knows chat completions, whatever the model is called
        values["use_responses_api"] = False
    return FastChatOpenAI(**values)


def _azure(settings: ModelSettings, name: str, values: dict[str, Any]) -> BaseChatModel:
    from manus.models.azure_chat import FastAzureChatOpenAI

    if settings.base_url is None:
        raise SettingsError("Azure OpenAI needs its endpoint: set MANUS_BASE_URL.")
    if settings.api_key is None and not os.environ.get("AZURE_OPENAI_API_KEY"):
        raise SettingsError("Azure OpenAI needs its key: set MANUS_API_KEY.")
    values |= {
        "azure_endpoint": values.pop("base_url"),
        "azure_deployment": name,
        # deployments mostly bear their model's name: what that model refuses is told from it
        "model": name,
        "use_responses_api": False,  # whatever the name: the address is that of chat completions
        "api_version": settings.api_version or "2024-10-21",
    }
    return FastAzureChatOpenAI(**values)
