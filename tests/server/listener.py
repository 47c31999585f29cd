"""The HTTP side: a thread for each connection, on loopback."""

import socket
import socketserver
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol
from urllib.parse import unquote

from tests.server.connection import Connection
from tests.server.replies import Reply, fail
from tests.server.request import Request
from tests.server.wire import Ids


class Answers(Protocol):
    """Who decides what is answered."""

    models: list[str] | None
    looks: list[Request]
    about_model: Reply | None
    errors: list[Exception]

    def answer(self, request: Request) -> Reply:
        """Give the reply to a chat completion request."""
        ...

    def refuse(self, method: str, path: str) -> Reply:
        """Give the reply to a request for anything else."""
        ...


class Listener(socketserver.ThreadingTCPServer):
    """Listens until it is stopped, and then ends every connection."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answers: Answers, port: int, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.answers = answers
        self.ids = Ids()
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._serving = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._serving.start()

    def stop(self) -> None:
        """Release what hangs, end every connection, refuse new ones. Can be called again."""
        if self.closing.is_set():
            return
        self.closing.set()
        self.shutdown()
        self._serving.join()
        self.server_close()
        for connection in list(self._open):
            _disconnect(connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, so that it can be ended."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection, and end it."""
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep an error for the test; a client that went away is none, it may do so any time."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.answers.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    server: Listener  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        listed = [_model(name) for name in self.server.answers.models or ()]
        if self._path == "/v1/models" and self.server.answers.models is not None:
            self._connection.send_json({"object": "list", "data": listed})
            return
        request = Request(b"", self._fields)
        prefix, _, name = self._path.partition("/v1/models/")
        found = [model for model in listed if model["id"] == unquote(name)]
        if not prefix:
            self.server.answers.looks.append(request)
        if not prefix and (told := self.server.answers.about_model):
            self._send(told, request)
        elif not prefix and found:
            self._connection.send_json(found[0])
        elif not prefix:
            self._send(fail(404, code="unknown_url"), request)
        else:
            self._send(self.server.answers.refuse("GET", self.path), request)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        raw = self.rfile.read(length)
        if len(raw) < length:
            return  # the client went away in the middle of it
        request = Request(raw, self._fields)
        if self._path == "/v1/chat/completions":
            self._send(self.server.answers.answer(request), request)
        else:
            self._send(self.server.answers.refuse("POST", self.path), request)

    @property
    def _fields(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    @property
    def _path(self) -> str:
        return self.path.partition("?")[0]

    @property
    def _connection(self) -> Connection:
        return Connection(self, self.server.closing)

    def _send(self, reply: Reply, request: Request) -> None:
        self._connection.send(reply, request, self.server.ids)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "tests"}


def _disconnect(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended by itself
