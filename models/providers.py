"""Providers of models: what is known of them without asking, and the chat model of an endpoint.

Packages are imported when they are used. Their clients are told not to try again by themselves:
that is done in one place, for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manus.state.errors import SettingsError
from manus.state.model_settings import ModelSettings, shown_address, split_spec
from manus.state.text import one_line

if TYPE_CHECKING:
    import ssl

    from langchain_core.language_models import BaseChatModel

DEFAULT_MODEL = "gpt-5"
"""Where a key is set and no model is named."""
REPLAY = "replay:"
NOT_CONFIGURED = (
    "No model is configured: run `manus setup`, or set OPENAI_API_KEY, or MANUS_MODEL and "
    "MANUS_BASE_URL for any compatible server; `manus demo` needs none."
)
KEYS = {
    "openai": "MANUS_API_KEY or OPENAI_API_KEY",
    "azure": "MANUS_API_KEY",
    "anthropic": "MANUS_API_KEY or ANTHROPIC_API_KEY",
    "google": "MANUS_API_KEY or GOOGLE_API_KEY",
    "bedrock": "the AWS credentials (or MANUS_API_KEY) and the account's access to the model",
}
"""Where a key is set, as errors say it."""
_CONNECT_TIMEOUT = 15.0
"""Seconds. A server that is there takes the connection at once, however long it then thinks."""

Models = tuple[dict[ModelSettings, "BaseChatModel"], asyncio.Lock]
# Runs of one loop share them. A client's connections know their loop: weak keys would keep both.
_kept: dict[asyncio.AbstractEventLoop, tuple[Models, AsyncGenerator[Models]]] = {}


@dataclass(frozen=True, slots=True)
class Extra:
    """A provider whose package comes as an extra."""

    package: str
    """To be installed."""
    model_class: str
    needs: str
    """What its client cannot be made without."""
    attempts: dict[str, Any]
    """What keeps its client from trying again by itself."""
    wants_tools: bool = False
    """Calls in the history are refused where the request offers no tools."""
    mark: dict[str, Any] | None = None
    """What tells it to cache what comes before."""
    marked: re.Pattern[str] = re.compile("")
    """Models that know the mark, by their ids."""

    @property
    def module(self) -> str:
        """What is imported of it."""
        return self.package.replace("-", "_")


EXTRAS = {
    "anthropic": Extra(
        "langchain-anthropic",
        "ChatAnthropic",
        f"a key: {KEYS['anthropic']}",
        {"max_retries": 0},
        wants_tools=True,
        mark={"cache_control": {"type": "ephemeral"}},
    ),
    "google": Extra(
        "langchain-google-genai",
        "ChatGoogleGenerativeAI",
        f"a key: {KEYS['google']}",
        {"max_retries": 1},  # it counts attempts, and takes none for its default
    ),
    "bedrock": Extra(
        "langchain-aws",
        "ChatBedrockConverse",
        "a region (AWS_REGION) and credentials of AWS, or a Bedrock key in MANUS_API_KEY",
        {},
        wants_tools=True,
        mark={"cachePoint": {"type": "default"}},
        # "Prompt caching" in Amazon's user guide; Claude 3.5 Sonnet v2 for some customers only
        marked=re.compile(
            r"claude-(?:3-5-haiku|3-7|(?:opus|sonnet|haiku)-[4-9])|nova-(?:micro|lite|pro|premier)"
        ),
    ),
}
OTHER = Extra("", "", "", {})
"""A chat model of any other package, as a caller has made it."""


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


def name_of(model: str | BaseChatModel) -> str:
    """What a model is called: the name itself, or that of a chat model that the caller has made."""
    if isinstance(model, str):
        return model
    named = getattr(model, "model_name", None) or getattr(model, "model", None)
    return str(named or type(model).__name__)


def endpoint_of(model: BaseChatModel, settings: ModelSettings) -> ModelSettings:
    """The endpoint that stands for a chat model that the caller has made."""
    values = {"model": name_of(model), "base_url": getattr(model, "openai_api_base", None)}
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
    if provider in EXTRAS:
        return _extra(settings, provider, name, values)
    from openai import DefaultAsyncHttpxClient, Timeout

    timeout = Timeout(settings.timeout, connect=min(settings.timeout, _CONNECT_TIMEOUT))
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


def _extra(
    settings: ModelSettings, provider: str, name: str, values: dict[str, Any]
) -> BaseChatModel:
    """The chat model of a provider whose package comes as an extra."""
    extra = EXTRAS[provider]
    try:
        module = importlib.import_module(extra.module)
    except ImportError:
        raise SettingsError(
            f"The provider `{provider}` needs a package that is not installed: "
            f"pip install {extra.package}."
        ) from None
    try:
        limits = _bedrock(settings) if provider == "bedrock" else {"timeout": settings.timeout}
        made: Any = getattr(module, extra.model_class)
        model: BaseChatModel = made(
            model=name, streaming=True, **values, **limits, **extra.attempts
        )
        key: Any = getattr(model, "anthropic_api_key", None)
        if key is not None and not key.get_secret_value():
            raise ValueError("there is none")  # its client would find out with an odd request
    except Exception as error:  # each client has exceptions of its own
        raise SettingsError(
            f"The model `{provider}:{name}` cannot be set up; it needs {extra.needs} "
            f"({one_line(str(error), 300)})."
        ) from error
    return model


def _bedrock(settings: ModelSettings) -> dict[str, Any]:
    made = importlib.import_module("botocore.config").Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        read_timeout=settings.timeout,
        connect_timeout=min(settings.timeout, _CONNECT_TIMEOUT),
    )
    return {"config": made}
