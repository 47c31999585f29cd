"""Web sites for the tests, served on loopback: one per test, with the pages that it defines."""

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Request:
    path: str
    query: str
    method: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    body: str | bytes = ""
    status: int = 200
    type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | None = None
    """Event to wait for before anything is sent: a server that does not respond."""
    trickle: bool = False
    """Send the body but never close: a page that never finishes loading."""


Page = str | bytes | Answer | Callable[[Request], Answer]


class Site:
    """A server. `pages` maps paths to responses."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: list[Request] = []
        self.ended = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site._serve(self)

            do_POST = do_GET  # noqa: N815

            def do_CONNECT(self) -> None:
                site.requests.append(Request(self.path, "", "CONNECT", {}, b""))
                self.send_error(502)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass  # a browser may disconnect in the middle of a response

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self.place = f"127.0.0.1:{self.port}"
        self.base = f"http://{self.place}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        path, _, query = handler.path.removeprefix("http://").partition("?")
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        request = Request(path, query, handler.command, dict(handler.headers), body)
        self.requests.append(request)
        page = self.pages.get(path, Answer("not here", 404))
        answer = page(request) if callable(page) else page
        answer = answer if isinstance(answer, Answer) else Answer(answer)
        with contextlib.suppress(OSError):
            self._send(handler, answer)

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        data = answer.body.encode() if isinstance(answer.body, str) else answer.body
        if answer.hold is not None:
            while not (answer.hold.wait(0.05) or self.ended.is_set()):
                pass
        handler.send_response(answer.status)
        ending = ("Connection", "close") if answer.trickle else ("Content-Length", str(len(data)))
        for name, value in (("Content-Type", answer.type), *answer.headers.items(), ending):
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)
        if answer.trickle:
            handler.wfile.flush()
            self.ended.wait()
