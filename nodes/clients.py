"""The models of each event loop: their clients hold connections, and are closed when it ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import NamedTuple

from langchain_core.language_models import BaseChatModel

from state.model_settings import ModelSettings

Models = dict[ModelSettings, BaseChatModel]


class _Kept(NamedTuple):
    models: Models
    end: AsyncGenerator[None, None]


# Runs of one loop share them. A client's connections know their loop: weak keys would keep both.
_kept: dict[asyncio.AbstractEventLoop, _Kept] = {}


async def models_of_loop() -> Models:
    """The models that were made for the running loop, to look in and to add to."""
    loop = asyncio.get_running_loop()
    if loop not in _kept:
        for other in [other for other in list(_kept) if other.is_closed()]:
            _kept.pop(other, None)  # closed without the end that asyncio.run gives to a loop
        models: Models = {}
        _kept[loop] = _Kept(models, _end(loop, models))
        await anext(_kept[loop].end)
    return _kept[loop].models


async def _end(loop: asyncio.AbstractEventLoop, models: Models) -> AsyncGenerator[None, None]:
    """Stays open until the loop shuts its generators down, the last thing that it does."""
    try:
        yield
    finally:
        _kept.pop(loop, None)
        for model in models.values():
            await _close(model)


async def _close(model: BaseChatModel) -> None:
    """Close the connections of OpenAI's client; the other packages share theirs among models."""
    client = getattr(model, "root_async_client", None)
    if client is not None:
        with contextlib.suppress(Exception):
            await client.close()
