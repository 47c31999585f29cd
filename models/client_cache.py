"""The models of each event loop: their clients hold connections, which are closed when it ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import NamedTuple

from langchain_core.language_models import BaseChatModel

from manus.state.model_settings import ModelSettings

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
        models: Models = {}
        _kept[loop] = _Kept(models, _end(loop, models))
        await anext(_kept[loop].end)
    return _kept[loop].models


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
