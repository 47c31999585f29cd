"""The command line's store for LangGraph's development server, which else keeps threads in memory.

Named in `langgraph.json` as `"checkpointer": {"path": "manus.served.checkpointer"}`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from manus.checkpoint import open_checkpointer
from manus.state.settings import load_settings


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """The store that MANUS_CHECKPOINT names, open as long as the server runs.

    Raises:
        SettingsError, StorageError: as `manus.checkpoint.open_store`.
    """
    settings = await asyncio.to_thread(load_settings, os.environ)
    async with open_checkpointer(settings) as saver:
        yield saver
