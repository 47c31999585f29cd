"""The parts of a server of graphs that manus provides.

`app`, which `langgraph.json` names, restricts access to programs on this machine and Studio, and
provides the routes for messages to a thread during a run. `checkpointer` is the command line's
store of threads, if configured as `"checkpointer": {"path": "manus.served.checkpointer"}`.
`create_aegra_app` is Aegra's application with the same restrictions: `uvicorn --factory
manus.served:create_aegra_app`.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
from langgraph.checkpoint.base import BaseCheckpointSaver
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from manus.config.settings import load_settings
from manus.graph.inbox import SERVED_INBOX
from manus.graph.inputs import find_served_records
from manus.pages.server_guard import LOOPBACK_NAMES, AccessPolicy, Guard
from manus.pages.startup_errors import StartupErrors
from manus.state.errors import UsageError
from manus.threads.open_store import open_store
from manus.threads.records.inbox import Inbox, list_unread, new_message

_INTERNAL_HOST = "api"
"""Host name by which the server calls itself, inside its own process."""
_STUDIO = "https://smith.langchain.com"


def access_from(environment: Mapping[str, str]) -> AccessPolicy:
    """Return the requests that the server accepts, as the environment configures them."""
    names = environment.get("MANUS_ALLOWED_HOSTS", "").split(",")
    allowed = filter(None, map(str.strip, names))
    return AccessPolicy(
        hosts=frozenset({*LOOPBACK_NAMES, _INTERNAL_HOST, *allowed}),
        origins=frozenset({_STUDIO}),
        token=environment.get("MANUS_SERVER_TOKEN", ""),
        token_source="of MANUS_SERVER_TOKEN",
        is_json_only=True,
        open_paths=frozenset({"/ok", "/live", "/ready"}),
        trusted_hosts=frozenset({_INTERNAL_HOST}),
    )


_inboxes: list[Inbox] = []
"""The inboxes of the store that `checkpointer` has opened."""


def _find_inbox() -> Inbox:
    """Return the inbox that the runs of this server read. Blocking."""
    if _inboxes:
        return _inboxes[-1]
    records = find_served_records()
    return SERVED_INBOX if records is None else records.inbox


async def _send(request: Request) -> Response:
    """Store a message to a thread."""
    try:
        body = await request.json()
        message = new_message(str(body.get("text") or ""))
    except UsageError as error:
        return _refuse(422, str(error))
    except (ValueError, AttributeError):
        return _refuse(422, 'Send a JSON object such as {"text": "Use tabs."}.')
    if refusal := await _refuse_stranger(request):
        return refusal
    inbox = await asyncio.to_thread(_find_inbox)
    await inbox.run(partial(inbox.add, request.path_params["thread_id"], message))
    return JSONResponse(message.as_json(), 201)


async def _list(request: Request) -> Response:
    """Return the unread messages to a thread."""
    if refusal := await _refuse_stranger(request):
        return refusal
    inbox = await asyncio.to_thread(_find_inbox)
    messages = await inbox.run(partial(inbox.read, request.path_params["thread_id"]))
    return JSONResponse([message.as_json() for message in list_unread(messages)])


async def _withdraw(request: Request) -> Response:
    """Withdraw an unread message."""
    if refusal := await _refuse_stranger(request):
        return refusal
    inbox = await asyncio.to_thread(_find_inbox)
    thread_id = request.path_params["thread_id"]
    message_id = request.path_params["message_id"]
    if await inbox.run(partial(inbox.withdraw, thread_id, message_id)):
        return Response(status_code=204)
    return _refuse(404, "No unread message has this id: the agent may have already read it.")


async def _refuse_stranger(request: Request) -> Response | None:
    """Return an error if the server itself refuses to show the thread to the caller.

    LangGraph's server does not ask its `auth` about the routes of an application.
    """
    left_out = {"host", "content-length", "content-type"}
    headers = {name: value for name, value in request.headers.items() if name not in left_out}
    thread_id = quote(request.path_params["thread_id"], safe="")
    transport = httpx.ASGITransport(request.app)
    async with httpx.AsyncClient(
        transport=transport, base_url=f"http://{_INTERNAL_HOST}", headers=headers
    ) as client:
        answer = await client.get(f"/threads/{thread_id}")
    if answer.is_success:
        return None
    return _refuse(answer.status_code, f"The server shows no thread {thread_id} to you.")


def _refuse(status: int, detail: str) -> Response:
    return JSONResponse({"detail": detail}, status)


def _find_application_class() -> Any:
    """Return FastAPI's class where Aegra is installed, which takes no other application."""
    is_aegra = importlib.util.find_spec("aegra_api") is not None
    return importlib.import_module("fastapi").FastAPI if is_aegra else Starlette


_MESSAGES = "/manus/threads/{thread_id}/messages"
app: Starlette = _find_application_class()(
    routes=[
        Route(_MESSAGES, _send, methods=["POST"]),
        Route(_MESSAGES, _list, methods=["GET"]),
        Route(f"{_MESSAGES}/{{message_id}}", _withdraw, methods=["DELETE"]),
    ],
    middleware=[Middleware(Guard, lambda: access_from(os.environ))],
)


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
        SettingsError, StorageError: as `manus.threads.open_store.open_store`.
    """
    settings = await asyncio.to_thread(load_settings, os.environ)
    async with open_store(settings) as store:
        _inboxes.append(store.records.inbox)
        try:
            yield store
        finally:
            _inboxes.remove(store.records.inbox)
