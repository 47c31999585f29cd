"""The page over HTTP: to this machine alone, to those who know the address, and only to be read."""

from __future__ import annotations

import hmac
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

from manus.run_report.page import policy
from manus.state.errors import UsageError
from manus.watch.board import Board

HOST = "127.0.0.1"
_PATIENCE = 30.0
"""Seconds after which a connection that says nothing is closed."""


class PageServer:
    """Serves a board as long as the block; its address has a random part that nobody can guess."""

    def __init__(self, board: Board, port: int = 0) -> None:
        """Bind the port, or any free one.

        Raises:
            UsageError: the port cannot be had.
        """
        self._token = secrets.token_urlsafe(16)
        try:
            self._server = _Server((HOST, port), _Handler)
        except OSError as error:
            raise UsageError(
                f"The port {port} cannot be used ({error.strerror}); choose another with --port, "
                "or leave it out for any that is free."
            ) from None
        self._server.board, self._server.token = board, self._token
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self._server.server_port}/{self._token}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    board: Board
    token: str


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE
    server: _Server

    def do_GET(self) -> None:
        """The page, or what is new on it."""
        if not self._is_own_host():
            # another name for this address: a page elsewhere that had its name point here
            self._refuse(HTTPStatus.FORBIDDEN, "This address is not asked for by that name.")
            return
        parts = urlsplit(self.path)
        token, _, name = parts.path.lstrip("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND, "There is nothing here; use the address as printed.")
        elif name == "":
            self._send(self.server.board.whole())
        elif name == "content":
            known = parse_qs(parts.query).get("known", [""])[0]
            news = self.server.board.news(known)
            if news is None:
                self._send("", HTTPStatus.NO_CONTENT)
            else:
                self._send(news[1], version=news[0])
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _is_own_host(self) -> bool:
        port = self.server.server_port
        return self.headers.get("Host") in (f"{HOST}:{port}", f"localhost:{port}")

    def _refuse(self, status: HTTPStatus, words: str) -> None:
        self.close_connection = True
        self._send(words + "\n", status, kind="text/plain")

    def _send(
        self,
        text: str,
        status: HTTPStatus = HTTPStatus.OK,
        *,
        kind: str = "text/html",
        version: str = "",
    ) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", policy(live=True) + "; frame-ancestors 'none'")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        if version:
            self.send_header("X-Version", version)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing: the page asks more than once a second."""

    def version_string(self) -> str:
        """The server's name, without versions."""
        return "manus"
