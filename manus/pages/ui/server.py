"""The HTTP server of the chat page: loopback only, with a secret token in the address."""

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
from manus.pages.server_guard import AccessPolicy, Guard, listen
from manus.pages.ui.backend import PageBackend
from manus.state.errors import ManusError, UsageError

HOST = "127.0.0.1"
_WINDOW = 60
"""Steps that a page shows at first."""
_MAX_BODY = 50 * 2**20
"""Bytes of a request, including uploaded files."""
_OPTIONS = ("model", "profile", "approve")
"""Fields of `RunOptions` that a request may set."""
_ADDRESS = "ui"
"""Name of the owner-readable record with the port and token of the last start."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def application(backend: PageBackend, token: str, port: int) -> ASGIApp:
    """Build the application; all routes are below the secret token."""
    routes = [
        Route("/", _to_new_thread),
        Route("/t/{thread}/", partial(_page, backend, backend.page)),
        Route("/t/{thread}/live", partial(_live, backend)),
        Route("/t/{thread}/report", partial(_page, backend, backend.report)),
        Route("/t/{thread}/screen", partial(_screen, backend)),
        Route("/t/{thread}/pictures/{name:path}", partial(_picture, backend)),
        Route("/t/{thread}/files/{path:path}", partial(_file, backend)),
        Route("/t/{thread}/{action}", partial(_act, backend), methods=["POST"]),
    ]
    mounted = [Mount(f"/{token}", routes=routes)]
    app = Starlette(routes=mounted, exception_handlers={ManusError: _report_error})
    # only this page, under this address: another page could use DNS rebinding or CSRF
    access = AccessPolicy(hosts=frozenset({f"{HOST}:{port}", f"localhost:{port}"}))
    return Guard(app, lambda: access)


async def _report_error(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, 409, _HEADERS)


async def _to_new_thread(request: Request) -> Response:
    return RedirectResponse(f"{request.scope['root_path']}/t/{secrets.token_hex(5)}/")


async def _page(
    backend: PageBackend,
    render: Callable[[str, str, int], Awaitable[tuple[str, str]]],
    request: Request,
) -> Response:
    """Return a page, or 304 if it has not changed."""
    thread = request.path_params["thread"]
    version = f'"{await backend.version(thread)}"'
    if request.headers.get("if-none-match") == version:
        return Response(status_code=304)
    window = request.query_params.get("steps", "")
    html, policy = await render(thread, version, int(window) if window.isdecimal() else _WINDOW)
    policy = f"{policy}; frame-ancestors 'none'"
    headers = {**_HEADERS, "ETag": version, "Content-Security-Policy": policy}
    return Response(html.encode("utf-8", "replace"), headers=headers, media_type="text/html")


async def _live(backend: PageBackend, request: Request) -> Response:
    async def events() -> AsyncIterator[str]:
        async for event in backend.jobs.live(request.path_params["thread"]):
            yield f"data: {json.dumps(event)}\n\n"

    return StreamingResponse(events(), 200, _HEADERS, "text/event-stream")


async def _screen(backend: PageBackend, request: Request) -> Response:
    image = await backend.jobs.screen(request.path_params["thread"])
    return Response(image, 200 if image else 204, _HEADERS, "image/jpeg")


async def _picture(backend: PageBackend, request: Request) -> Response:
    """Return the picture of a step, which never changes."""
    params = request.path_params
    data = await backend.picture(params["thread"], params["name"])
    headers = {**_HEADERS, "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(data, 200 if data else 404, headers, "image/jpeg")


async def _file(backend: PageBackend, request: Request) -> Response:
    """Return a file of the workspace as a download, so that an HTML file does not run here."""
    path = request.path_params["path"]
    data = await backend.file(request.path_params["thread"], path)
    media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
    download = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox"}
    return Response(data, 200, {**_HEADERS, **download}, media_type)


async def _act(backend: PageBackend, request: Request) -> Response:
    thread = request.path_params["thread"]
    action = request.path_params["action"]
    if int(request.headers.get("content-length", _MAX_BODY + 1)) > _MAX_BODY:
        raise UsageError(
            f"The request is larger than {_MAX_BODY // 2**20} MB; send less at a time."
        )
    try:
        body: dict[str, Any] = json.loads(await request.body() or b"{}")
        files = [(f["name"], base64.b64decode(f["data"])) for f in body.get("files", ())]
        text = str(body.get("text", ""))
        answers = {str(key): str(value) for key, value in body.get("answers", {}).items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UsageError("The request is malformed; reload the page.") from None
    if action == "send":
        options: Any = {"plans": bool(body.get("flow")), "queue": bool(body.get("queue"))}
        options["options"] = {name: str(body.get(name, "")) for name in _OPTIONS}
        await backend.send(thread, text, files, **options, at=body.get("at"))
    elif action == "withdraw":
        await backend.withdraw(thread, text)
    elif action == "answer":
        await backend.answer(thread, answers)
    elif action == "stop":
        await backend.jobs.stop(thread)
    elif action == "delete":
        await backend.delete(thread)
    elif action == "rename":
        await backend.set_title(thread, text)
    elif action == "resume":
        await backend.resume(thread)
    else:
        return Response(status_code=404)
    return JSONResponse({}, 200, _HEADERS)


def _listen_as_before(port: int) -> tuple[socket.socket, str]:
    """Listen at the address of the last start, so that open pages and bookmarks keep working.

    Args:
        port: 0 for the last one, or any free one if it is taken.

    Raises:
        UsageError: the port is not available.
    """
    last = read_record(_ADDRESS)
    token = str(last.get("token") or secrets.token_urlsafe(16))
    listener = _listen_at_last(last.get("port")) if port == 0 else listen(HOST, port)
    if listener is None:
        return listen(HOST, 0), secrets.token_urlsafe(16)
    with contextlib.suppress(OSError):  # read-only home: the next start uses another address
        write_record(_ADDRESS, {"port": listener.getsockname()[1], "token": token})
    return listener, token


def _listen_at_last(port: object) -> socket.socket | None:
    """Listen at the last port, or at a free one on the first start; None if it is taken."""
    if not isinstance(port, int):
        return listen(HOST, 0)
    try:
        return listen(HOST, port)
    except UsageError:
        return None


async def serve(backend: PageBackend, port: int, on_start: Callable[[str], object]) -> None:
    """Serve until a signal; call `on_start` with the address.

    Raises:
        UsageError: the port is not available.
    """
    listener, token = await asyncio.to_thread(_listen_as_before, port)
    port = listener.getsockname()[1]
    quiet: Any = {"log_config": None, "access_log": False, "server_header": False}
    app = application(backend, token, port)
    config = uvicorn.Config(app, lifespan="off", ws="none", timeout_graceful_shutdown=1, **quiet)
    on_start(f"http://{HOST}:{port}/{token}/")
    try:
        await uvicorn.Server(config).serve([listener])
    finally:
        await asyncio.shield(backend.jobs.close())
