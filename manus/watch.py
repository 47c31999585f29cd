"""A thread as a page that follows it: on this machine alone, for those who know the address."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from manus.run_report.page import asset, page, policy, style
from manus.state.errors import UsageError
from manus.threads import is_being_worked_on
from manus.trace.checkpoint_history import fingerprint
from manus.trace.reading import read_trace

if TYPE_CHECKING:
    from manus.checkpoint import Store

HOST = "127.0.0.1"
_POLICY = policy(style(), asset("page.js"), is_live=True)
_PAUSE = 0.5
"""Seconds between two looks at the store."""
_SHARE = 4
"""The pause is at least so many times as long as a look takes: the run needs the processor."""
_SILENCE = 30.0
"""Seconds after which a connection that says nothing is closed."""


async def pages(store: Store, thread_id: str) -> AsyncIterator[str]:
    """The page of a thread, and again whenever there is something new in it; never ends.

    Raises:
        StorageError: the store cannot be read any more.
    """
    seen: object = None
    is_running = False
    while True:
        began = time.monotonic()
        mark, was_running = await fingerprint(store.saver, thread_id), is_running
        if mark and (is_running or mark != seen):
            is_running = await is_being_worked_on(store, thread_id)
        if mark != seen or is_running != was_running:
            seen = mark
            runs = await read_trace(store.saver, thread_id, is_running=is_running)
            yield await asyncio.to_thread(page, thread_id, runs, place=store.place, is_live=True)
        await asyncio.sleep(max(_PAUSE, _SHARE * (time.monotonic() - began)))


class PageServer(ThreadingHTTPServer):
    """Serves one page; its address has a random part that nobody can guess."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int = 0) -> None:
        """Bind the port, or any free one.

        Raises:
            UsageError: the port cannot be had.
        """
        self.token = secrets.token_urlsafe(16)
        self.shown = "", ""
        """The page, and its version."""
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise UsageError(
                f"The port {port} cannot be used ({error.strerror}); choose another with --port, "
                "or leave it out for any that is free."
            ) from None

    def show(self, html: str) -> None:
        """Replace the page."""
        self.shown = html, f'"{secrets.token_hex(8)}"'

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve as long as the block."""
        thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _SILENCE
    server: PageServer

    def do_GET(self) -> None:
        """The page, or that nothing is new on it."""
        port = self.server.server_port
        html, version = self.server.shown
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):
            # another name for this address: a page elsewhere that had its name point here
            self._send(HTTPStatus.FORBIDDEN, "This address is not asked for by that name.\n")
        elif not hmac.compare_digest(self.path.encode(), f"/{self.server.token}/".encode()):
            words = "There is nothing here; use the address as printed.\n"
            self._send(HTTPStatus.NOT_FOUND, words)
        elif self.headers.get("If-None-Match") == version:
            self._send(HTTPStatus.NOT_MODIFIED, "", version)
        else:
            self._send(HTTPStatus.OK, html, version)

    def _send(self, status: HTTPStatus, text: str, version: str = "") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        kind = "text/html" if version else "text/plain"
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        if version:
            self.send_header("ETag", version)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", f"{_POLICY}; frame-ancestors 'none'")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing: the page asks more than once a second."""

    def version_string(self) -> str:
        """The server's name, without versions."""
        return "manus"
