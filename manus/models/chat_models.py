"""Build the chat model of an endpoint.

Packages are imported on first use. The clients' own retries are disabled: `with_retries` retries
for all providers.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manus.config.model_settings import ModelSettings, check_name, split_spec
from manus.config.provider_table import DEFAULT_MODEL, PROVIDERS
from manus.models.package_models import CONNECT_TIMEOUT, from_package
from manus.models.providers import NOT_CONFIGURED, REPLAY, is_configured
from manus.state.errors import SettingsError
from manus.state.text import one_line

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

LONGEST_THOUGHT = 3_600.0
"""Seconds for which a server may keep a reply alive without adding to it."""

Models = tuple[dict[ModelSettings, "BaseChatModel"], asyncio.Lock]
# Runs on one event loop share chat models. A client's connections refer to their loop, so weak keys
# would never be dropped.
_models_by_loop: dict[asyncio.AbstractEventLoop, tuple[Models, AsyncGenerator[Models]]] = {}


async def build_model(settings: ModelSettings, workspace: Path) -> BaseChatModel:
    """Return the chat model for the settings; runs on one event loop share it.

    Raises:
        SettingsError: no model is configured, a recording cannot be read, or a package is missing.
    """
    if not is_configured(settings):
        raise SettingsError(NOT_CONFIGURED)
    spec = settings.model or DEFAULT_MODEL
    try:
        check_name(spec)
    except ValueError as error:
        raise SettingsError(f"The model name is not valid: {error}.") from None
    if spec.startswith(REPLAY):
        from manus.models.recording import ReplayModel

        path = spec.removeprefix(REPLAY)
        return await asyncio.to_thread(ReplayModel.load, path, str(workspace))
    models, lock = await _get_loop_models()
    async with lock:  # so that runs that start concurrently share one model
        if settings not in models:
            # imports take a second and read files: not on the event loop
            models[settings] = await asyncio.to_thread(_build, settings, *split_spec(spec))
    return models[settings]


async def _get_loop_models() -> Models:
    """Return the models built for the running loop, and the lock for building another one."""
    loop = asyncio.get_running_loop()
    if loop not in _models_by_loop:
        holder = _hold_models(loop)
        models = await anext(holder)
        _models_by_loop[loop] = (models, holder)
    return _models_by_loop[loop][0]


async def _hold_models(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[Models]:
    """Yield the models of a loop; close their clients when the loop shuts down its generators."""
    models: dict[ModelSettings, BaseChatModel] = {}
    try:
        yield models, asyncio.Lock()
    finally:
        # only OpenAI's clients belong to a single model: other packages share theirs
        for settings, model in list(models.items()):
            client = getattr(model, "root_async_client", None)
            if client is not None:
                del models[settings]
                with contextlib.suppress(Exception):  # one failure must not keep the others open
                    await client.close()
        if not models:
            _models_by_loop.pop(loop, None)


def _build(settings: ModelSettings, provider: str, name: str) -> BaseChatModel:
    names = {"temperature", "max_tokens", "api_key", "base_url", "reasoning_effort"}
    values: dict[str, Any] = settings.model_dump(include=names, exclude_none=True)
    if not PROVIDERS[provider].is_own:
        return from_package(settings, provider, name)
    from openai import Timeout

    from manus.models.http_client import build_http_client

    timeout = Timeout(settings.timeout, connect=min(settings.timeout, CONNECT_TIMEOUT))
    try:
        client = build_http_client(timeout)
    except (OSError, ValueError, ImportError) as error:
        raise SettingsError(
            "The HTTP client for model servers cannot be created; check SSL_CERT_FILE, "
            f"SSL_CERT_DIR and the proxy variables ({one_line(str(error), 300)})."
        ) from error
    values |= {
        "timeout": timeout,
        "max_retries": 0,
        # servers other than OpenAI's report usage only on request
        "stream_usage": True,
        "http_async_client": client,
        "http_socket_options": (),  # the default causes a warning that it hides a proxy
        # comments and empty chunks that keep the connection open during a long thought
        "stream_chunk_timeout": max(settings.timeout, LONGEST_THOUGHT),
    }
    module: Any = importlib.import_module(PROVIDERS[provider].import_name)
    model: BaseChatModel = module.build(settings, name, values)
    return model
