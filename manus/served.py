"""The parts of a server of graphs that manus provides.

`app`, which `langgraph.json` names, restricts access to programs on this machine and Studio.
`checkpointer` is the command line's store of threads, if configured as
`"checkpointer": {"path": "manus.served.checkpointer"}`. `create_aegra_app` is Aegra's application
with the same restrictions: `uvicorn --factory manus.served:create_aegra_app`.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from manus.config.settings import load_settings
from manus.pages.server_guard import LOOPBACK_NAMES, Access, Guard
from manus.pages.startup_errors import StartupErrors
from manus.store.open_store import open_store

_INTERNAL_HOST = "api"
"""Host name by which the server calls itself, inside its own process."""
_STUDIO = "https://smith.langchain.com"


def access_from(environment: Mapping[str, str]) -> Access:
    """Return the requests that the server accepts, as the environment configures them."""
    names = environment.get("MANUS_ALLOWED_HOSTS", "").split(",")
    allowed = filter(None, map(str.strip, names))
    return Access(
        hosts=frozenset({*LOOPBACK_NAMES, _INTERNAL_HOST, *allowed}),
        origins=frozenset({_STUDIO}),
        token=environment.get("MANUS_SERVER_TOKEN", ""),
        token_source="of MANUS_SERVER_TOKEN",
        is_json_only=True,
        open_paths=frozenset({"/ok", "/live", "/ready"}),
        trusted_hosts=frozenset({_INTERNAL_HOST}),
    )


app = Starlette(middleware=[Middleware(Guard, lambda: access_from(os.environ))])


def create_aegra_app() -> ASGIApp:
    """Return Aegra's application behind the guard; end the program if it cannot be served."""
    if not os.environ.get("MANUS_SERVER_TOKEN"):
        sys.exit(
            "MANUS_SERVER_TOKEN is not set, and without it anyone who reaches the server could run "
            "commands; set it to a long random text that the clients send as their bearer token."
        )
    try:
        aegra: ASGIApp = importlib.import_module("aegra_api.main").app
    except ModuleNotFoundError as error:
        if error.name != "aegra_api":
            raise
        sys.exit("aegra-api is not installed; install it with `pip install aegra-api`.")
    return Guard(StartupErrors(aegra), lambda: access_from(os.environ))


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open the store that MANUS_CHECKPOINT names, for as long as the server runs.

    Raises:
        SettingsError, StorageError: as `manus.store.open_store.open_store`.
    """
    settings = await asyncio.to_thread(load_settings, os.environ)
    async with open_store(settings) as store:
        yield store
