"""The chat model of a role, from the settings. Providers' packages are imported when used."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from manus.models.client_cache import models_of_loop
from manus.models.extras import build_extra
from manus.models.model_names import (
    DEFAULT_MODEL,
    NOT_CONFIGURED,
    REPLAY,
    is_configured,
    split_spec,
)
from manus.state.errors import SettingsError
from manus.state.model_settings import ModelSettings

_CONNECT_TIMEOUT = 15.0
"""Seconds. A server that is there takes the connection at once, however long it then thinks."""


async def build_model(settings: ModelSettings, workspace: Path) -> BaseChatModel:
    """The chat model that the settings name.

    Raises:
        SettingsError: none is configured, a recording cannot be read, or a package is missing.
    """
    if not is_configured(settings):
        raise SettingsError(NOT_CONFIGURED)
    spec = settings.model or DEFAULT_MODEL
    if spec.startswith(REPLAY):
        return await asyncio.to_thread(_replay, spec.removeprefix(REPLAY), workspace)
    known = await models_of_loop()
    if settings not in known:
        # imports take a second and read files: not on the event loop
        built = await asyncio.to_thread(_build, settings, *split_spec(spec))
        known.setdefault(settings, built)  # another run may have built it meanwhile, and use it
    return known[settings]


def _replay(path: str, workspace: Path) -> BaseChatModel:
    from manus.models.replay import ReplayModel

    return ReplayModel.load(path, str(workspace))


def _build(settings: ModelSettings, provider: str, name: str) -> BaseChatModel:
    if provider == "openai":
        return _openai(settings, name)
    if provider == "azure":
        return _azure(settings, name)
    connect = min(settings.timeout, _CONNECT_TIMEOUT)
    return build_extra(settings, provider, name, connect=connect)


def _common(settings: ModelSettings) -> dict[str, Any]:
    chosen = {
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "api_key": settings.api_key,
        "base_url": settings.base_url,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _openai(settings: ModelSettings, name: str) -> BaseChatModel:
    from manus.models.openai_chat import FastChatOpenAI

    if settings.api_key is None and settings.base_url is None:
        raise SettingsError(NOT_CONFIGURED)
    values = _common(settings)
    # a local server wants no key, the client wants one; given as a function, it keeps the client
    # from being built a second time for synchronous use
    key = settings.api_key.get_secret_value() if settings.api_key else "none"
    values["api_key"] = partial(_later, key)
    if settings.base_url is not None:
        # a compatible server knows chat completions, whatever the model is called
        values["use_responses_api"] = False
    if settings.reasoning_effort is not None:
        values["reasoning_effort"] = settings.reasoning_effort
    return FastChatOpenAI(**values, **_protocol(settings, model=name))


def _protocol(settings: ModelSettings, **more: Any) -> dict[str, Any]:
    from openai import Timeout

    from manus.models.http_clients import http_client

    connect = min(settings.timeout, _CONNECT_TIMEOUT)
    timeout = Timeout(settings.timeout, connect=connect)
    # retries are ours, in one place; usage has to be asked for where the address is not OpenAI's
    common = {"timeout": timeout, "max_retries": 0, "stream_usage": True}
    # whose sockets have their options: with its own it would warn that these hide a proxy
    common |= {"http_async_client": http_client(timeout), "http_socket_options": ()}
    # comments that keep a connection open are no part of a reply
    return {**common, "stream_chunk_timeout": settings.timeout, **more}


async def _later(key: str) -> str:
    return key


def _azure(settings: ModelSettings, name: str) -> BaseChatModel:
    from manus.models.openai_chat import FastAzureChatOpenAI

    if settings.base_url is None:
        raise SettingsError("Azure OpenAI needs its endpoint: set MANUS_BASE_URL.")
    if settings.api_key is None and not os.environ.get("AZURE_OPENAI_API_KEY"):
        raise SettingsError("Azure OpenAI needs its key: set MANUS_API_KEY.")
    values = _common(settings)
    values.pop("base_url")
    if settings.reasoning_effort is not None:
        values["reasoning_effort"] = settings.reasoning_effort
    azure = {
        "azure_deployment": name,
        # deployments mostly bear their model's name: what that model refuses is told from it
        "model": name,
        "use_responses_api": False,  # whatever the name: the address is that of chat completions
        "azure_endpoint": settings.base_url,
        "api_version": settings.api_version or "2024-10-21",
    }
    return FastAzureChatOpenAI(**values, **_protocol(settings, **azure))
