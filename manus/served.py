"""What LangGraph's server takes from us, as `langgraph.json` names it.

`app` says who may ask it: programs on this machine and Studio, no page of somebody else.
`checkpointer`, where it is named as `"checkpointer": {"path": "manus.served.checkpointer"}`, is the
command line's store of threads.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from langgraph.checkpoint.base import BaseCheckpointSaver
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from manus.config.settings import load_settings
from manus.pages.server_guard import Guard
from manus.store.open_store import open_store

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ITSELF = "api"
"""The host by which the server asks itself, inside its own process."""
_STUDIO = "https://smith.langchain.com"


def refusal(
    method: str, path: str, headers: Mapping[str, str], environment: Mapping[str, str]
) -> str | None:
    """Why a request is refused; None if it is not.

    A page in a browser can send to this machine: under a host name of its own, from an origin of
    its own, as plain text without asking first.
    """
    named = environment.get("MANUS_ALLOWED_HOSTS", "")
    hosts = {*_LOOPBACK, _ITSELF, *(name.strip() for name in named.split(","))}
    host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    if "*" not in hosts and host not in hosts:
        return f"The host {host!r} is not this server's: name it in MANUS_ALLOWED_HOSTS."
    origin = headers.get("origin")
    if origin not in (None, _STUDIO) and urlsplit(str(origin)).hostname not in hosts:
        return f"Pages of {origin} may not ask this server."
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method in ("POST", "PUT", "PATCH") and has_body and kind != "application/json":
        return "Requests are JSON: send them as application/json."
    token = environment.get("MANUS_SERVER_TOKEN", "")
    if not token or method == "OPTIONS" or path == "/ok" or host == _ITSELF:
        return None
    given = headers.get("authorization", "").encode()
    is_known = hmac.compare_digest(given, f"Bearer {token}".encode())
    return None if is_known else "The token of MANUS_SERVER_TOKEN is missing or wrong."


def _refused(request: Request) -> Response | None:
    why = refusal(request.method, request.scope["path"], request.headers, os.environ)
    return None if why is None else JSONResponse({"detail": why}, 403)


app = Starlette(middleware=[Middleware(Guard, _refused)])


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """The store that MANUS_CHECKPOINT names, open as long as the server runs.

    Raises:
        SettingsError, StorageError: as `manus.store.open_store.open_store`.
    """
    settings = await asyncio.to_thread(load_settings, os.environ)
    async with open_store(settings) as store:
        yield store
