"""What the page asks of its server: on this machine alone, for those who know the address."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import mimetypes
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from manus.config.files import read_record, write_record
from manus.pages.server_guard import Guard, listen
from manus.pages.ui.conversation import Conversation
from manus.state.errors import ManusError, UsageError

HOST = "127.0.0.1"
_MOST = 50 * 2**20
"""Bytes of a request, files with it."""
_ADDRESS = "ui"
"""The record with the port and token of the last start; only its owner can read it."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def application(talk: Conversation, token: str, port: int) -> ASGIApp:
    """The application; everything lies below the token, which nobody can guess."""
    routes = [
        Route("/", _to_new_thread),
        Route("/t/{thread}/", partial(_page, talk, talk.page)),
        Route("/t/{thread}/live", partial(_live, talk)),
        Route("/t/{thread}/report", partial(_page, talk, talk.report)),
        Route("/t/{thread}/screen", partial(_screen, talk)),
        Route("/t/{thread}/files/{path:path}", partial(_file, talk)),
        Route("/t/{thread}/{action}", partial(_act, talk), methods=["POST"]),
    ]
    mounted = [Mount(f"/{token}", routes=routes)]
    app = Starlette(routes=mounted, exception_handlers={ManusError: _told})
    return Guard(app, partial(_refusal, port))


def _refusal(port: int, request: Request) -> Response | None:
    """Nothing for what asks for this server by its own name, from its own page."""
    hosts = (f"{HOST}:{port}", f"localhost:{port}")
    origin = request.headers.get("origin", f"http://{hosts[0]}")
    if request.headers.get("host") in hosts and origin.removeprefix("http://") in hosts:
        return None
    return Response("This address is not asked for by that name.\n", 403)


async def _told(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, 409, _HEADERS)


async def _to_new_thread(request: Request) -> Response:
    return RedirectResponse(f"{request.scope['root_path']}/t/{secrets.token_hex(5)}/")


async def _page(
    talk: Conversation, made: Callable[[str], Awaitable[tuple[str, str]]], request: Request
) -> Response:
    """A page, or that nothing is new on it."""
    thread = request.path_params["thread"]
    version = f'"{await talk.version(thread)}"'
    if request.headers.get("if-none-match") == version:
        return Response(status_code=304)
    html, policy = await made(thread)
    policy = f"{policy}; frame-ancestors 'none'"
    headers = {**_HEADERS, "ETag": version, "Content-Security-Policy": policy}
    return Response(html.encode("utf-8", "replace"), headers=headers, media_type="text/html")


async def _live(talk: Conversation, request: Request) -> Response:
    async def pieces() -> AsyncIterator[str]:
        async for piece in talk.sessions.live(request.path_params["thread"]):
            yield f"data: {json.dumps(piece)}\n\n"

    return StreamingResponse(pieces(), 200, _HEADERS, "text/event-stream")


async def _screen(talk: Conversation, request: Request) -> Response:
    picture = await talk.sessions.screen(request.path_params["thread"])
    return Response(picture, 200 if picture else 204, _HEADERS, "image/jpeg")


async def _file(talk: Conversation, request: Request) -> Response:
    """A file of the workspace, to be kept: a page among them must not run here."""
    path = request.path_params["path"]
    data = await talk.file(request.path_params["thread"], path)
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    alone = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox"}
    return Response(data, 200, {**_HEADERS, **alone}, kind)


async def _act(talk: Conversation, request: Request) -> Response:
    thread = request.path_params["thread"]
    action = request.path_params["action"]
    if int(request.headers.get("content-length", _MOST + 1)) > _MOST:
        raise UsageError(f"This is more than {_MOST // 2**20} MB at once; send less.")
    try:
        given: dict[str, Any] = json.loads(await request.body() or b"{}")
        files = [(f["name"], base64.b64decode(f["data"])) for f in given.get("files", ())]
        text = str(given.get("text", ""))
        answers = {str(k): str(v) for k, v in given.get("answers", {}).items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UsageError("This is not what the page sends; load it anew.") from None
    if action == "send":
        await talk.send(thread, text, files, plans=bool(given.get("flow")), at=given.get("at"))
    elif action == "answer":
        await talk.answer(thread, answers)
    elif action == "stop":
        await talk.sessions.stop(thread)
    elif action == "resume":
        await talk.resume(thread)
    else:
        return Response(status_code=404)
    return JSONResponse({}, 200, _HEADERS)


def _listen_as_before(port: int) -> tuple[socket.socket, str]:
    """Listen at the address of the last start, so that open pages and bookmarks work again.

    Args:
        port: 0 for the last one, or any that is free if another process has it.

    Raises:
        UsageError: the port cannot be had.
    """
    last = read_record(_ADDRESS)
    token = str(last.get("token") or secrets.token_urlsafe(16))
    listener = _listen_at_last(last.get("port")) if port == 0 else listen(HOST, port)
    if listener is None:
        return listen(HOST, 0), secrets.token_urlsafe(16)
    with contextlib.suppress(OSError):  # a read-only home: the next start has another address
        write_record(_ADDRESS, {"port": listener.getsockname()[1], "token": token})
    return listener, token


def _listen_at_last(port: object) -> socket.socket | None:
    """Listen at the last port, or a free one at the first start; None if the port is taken."""
    if not isinstance(port, int):
        return listen(HOST, 0)
    try:
        return listen(HOST, port)
    except UsageError:
        return None


async def serve(talk: Conversation, port: int, began: Callable[[str], object]) -> None:
    """Serve until a signal ends it; `began` is told the address.

    Raises:
        UsageError: the port cannot be had.
    """
    listener, token = await asyncio.to_thread(_listen_as_before, port)
    port = listener.getsockname()[1]
    quiet: Any = {"log_config": None, "access_log": False, "server_header": False}
    app = application(talk, token, port)
    config = uvicorn.Config(app, lifespan="off", ws="none", timeout_graceful_shutdown=1, **quiet)
    began(f"http://{HOST}:{port}/{token}/")
    try:
        await uvicorn.Server(config).serve([listener])
    finally:
        await asyncio.shield(talk.sessions.close())
