"""The chat model that the settings name. Providers' packages are imported when used.

Their clients are told not to try again by themselves: that is done in one place, for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from manus.models.providers import (
    DEFAULT_MODEL,
    EXTRAS,
    NOT_CONFIGURED,
    REPLAY,
    is_configured,
)
from manus.state.errors import SettingsError
from manus.state.model_settings import ModelSettings, split_spec
from manus.state.text import one_line

_CONNECT_TIMEOUT = 15.0
"""Seconds. A server that is there takes the connection at once, however long it then thinks."""

Models = dict[ModelSettings, BaseChatModel]
# Runs of one loop share them. A client's connections know their loop: weak keys would keep both.
_kept: dict[asyncio.AbstractEventLoop, tuple[Models, AsyncGenerator[None, None]]] = {}


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
    known = await _models_of_loop()
    if settings not in known:
        # imports take a second and read files: not on the event loop
        built = await asyncio.to_thread(_build, settings, *split_spec(spec))
        known.setdefault(settings, built)  # another run may have built it meanwhile, and use it
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
    """The models that were made for the running loop, to look in and to add to."""
    loop = asyncio.get_running_loop()
    if loop not in _kept:
        models: Models = {}
        _kept[loop] = models, _end(loop, models)
        await anext(_kept[loop][1])
    return _kept[loop][0]


async def _end(loop: asyncio.AbstractEventLoop, models: Models) -> AsyncGenerator[None, None]:
    """Stays open until the loop shuts its generators down, the last thing that it does.

    Only OpenAI's clients belong to one model alone; of the other packages' they share parts.
    """
    try:
        yield
    finally:
        for settings, model in list(models.items()):
            client = getattr(model, "root_async_client", None)
            if client is not None:
                del models[settings]
                with contextlib.suppress(Exception):
                    await client.close()
        if not models:
            _kept.pop(loop, None)


def _build(settings: ModelSettings, provider: str, name: str) -> BaseChatModel:
    names = ("temperature", "max_tokens", "api_key", "base_url", "reasoning_effort")
    chosen = {each: getattr(settings, each) for each in names}
    values: dict[str, Any] = {key: value for key, value in chosen.items() if value is not None}
    if provider in EXTRAS:
        return _extra(settings, provider, name, values)
    build = _azure if provider == "azure" else _openai
    return build(settings, name, {**values, **_protocol(settings)})


def _protocol(settings: ModelSettings) -> dict[str, Any]:
    """What OpenAI's clients are built with, whichever it is."""
    from openai import Timeout

    from manus.models.openai_chat import http_client

    timeout = Timeout(settings.timeout, connect=min(settings.timeout, _CONNECT_TIMEOUT))
    return {
        "timeout": timeout,
        "max_retries": 0,
        # usage has to be asked for where the address is not OpenAI's
        "stream_usage": True,
        # whose sockets have their options: with its own it would warn that these hide a proxy
        "http_async_client": http_client(timeout),
        "http_socket_options": (),
        # comments that keep a connection open are no part of a reply
        "stream_chunk_timeout": settings.timeout,
    }


def _openai(settings: ModelSettings, name: str, values: dict[str, Any]) -> BaseChatModel:
    from manus.models.openai_chat import FastChatOpenAI

    if settings.api_key is None and settings.base_url is None:
        raise SettingsError(NOT_CONFIGURED)
    # a local server wants no key, the client wants one; given as a function, it keeps the client
    # from being built a second time for synchronous use
    key = settings.api_key.get_secret_value() if settings.api_key else "none"
    values |= {"api_key": partial(_later, key), "model": name}
    if settings.base_url is not None:
        # a compatible server knows chat completions, whatever the model is called
        values["use_responses_api"] = False
    return FastChatOpenAI(**values)


async def _later(key: str) -> str:
    return key


def _azure(settings: ModelSettings, name: str, values: dict[str, Any]) -> BaseChatModel:
    from manus.models.openai_chat import FastAzureChatOpenAI

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
        model_class = getattr(module, extra.model_class)
        model: BaseChatModel = model_class(
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
    make = importlib.import_module("botocore.config").Config
    retries = {"total_max_attempts": 1, "mode": "standard"}
    connect = min(settings.timeout, _CONNECT_TIMEOUT)
    waits = {"read_timeout": settings.timeout, "connect_timeout": connect}
    return {"config": make(retries=retries, **waits)}
