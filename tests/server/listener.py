"""The HTTP side: one thread per connection, on loopback."""

import contextlib
import socket
import socketserver
import ssl
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.server.replies import Cut, Message, Raw, Reply, fail, reply_json
from tests.server.request import Request
from tests.server.wire import frames

if TYPE_CHECKING:
    from tests.server.server import ScriptedServer


WINDOW_PATHS = ("/api/ps", "/props", "/api/v0/models")
"""Paths at which servers of several products report the context window; others do not have them."""


class Listener(socketserver.ThreadingTCPServer):
    """Listens until it is stopped, and then closes every connection."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answers: "ScriptedServer", tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.answers = answers
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._serving = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._serving.start()

    def stop(self) -> None:
        """Release hung replies, close all connections, refuse new ones. Idempotent."""
        if self.closing.is_set():
            return
        self.closing.set()
        self.shutdown()
        self._serving.join()
        self.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):  # it has already ended
                connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep an error for the test; a client that disconnects is not an error."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.answers.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    """Sends replies, and can stall and break off."""

    server: Listener  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        request, answers = Request(b"", self._fields), self.server.answers
        answers.looks.append(request)
        path = self.path.partition("?")[0]
        if path in answers.pages:
            self._send(answers.pages[path], request)
            return
        if path in WINDOW_PATHS:
            self._send(fail(404, code="unknown_url", message="Not here."), request)
            return
        if path != "/v1/models":
            self._send(answers.refuse("GET", self.path), request)
            return
        about = {"object": "model", "created": 0, "owned_by": "tests"}
        listed = [{"id": name, **about} for name in answers.models]
        self._send(reply_json({"object": "list", "data": listed}), request)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        raw = self.rfile.read(length)
        if len(raw) < length:
            return  # the client disconnected in the middle of it
        request, answers = Request(raw, self._fields, unquote(self.path)), self.server.answers
        if self.path in answers.pages:
            answers.looks.append(request)
            self._send(answers.pages[self.path], request)
        elif answers.is_chat(self.path):
            self._send(answers.answer(request), request)
        else:
            self._send(answers.refuse("POST", self.path), request)

    @property
    def _fields(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _send(self, reply: Reply, request: Request) -> None:
        match reply:
            case Message():
                self._send_frames(frames(reply, request), request.stream, reply.pace)
            case Raw():
                length = {"Content-Type": reply.content_type, "Content-Length": len(reply.body)}
                self._head({**length, **reply.headers}, reply.status)
                for event in _events(reply):
                    self.server.closing.wait(reply.pace)
                    self.wfile.write(event)
            case Cut():
                if reply.after_chunks > 0:
                    data = frames(reply.reply, request)
                    self._send_frames(
                        data, request.stream, upto=min(reply.after_chunks, len(data) - 1)
                    )
                if reply.hangs:
                    self.server.closing.wait()
                self.close_connection = True

    def _send_frames(
        self, chunks: list[bytes], stream: bool, pace: float = 0.0, upto: int | None = None
    ) -> None:
        if stream:
            event_stream = "text/event-stream; charset=utf-8"
            self._head({"Content-Type": event_stream, "Transfer-Encoding": "chunked"})
        else:
            length = sum(map(len, chunks))
            self._head({"Content-Type": "application/json", "Content-Length": length})
        for frame in chunks[:upto]:
            self.server.closing.wait(pace)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(frame), frame) if stream else frame)
        if stream and upto is None:
            self.wfile.write(b"0\r\n\r\n")

    def _head(self, headers: Mapping[str, object], status: int = 200) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def _events(reply: Raw) -> list[bytes]:
    """Split a body that has a pace into its server-sent events."""
    end = b"\n\n"
    return [part + end for part in reply.body.split(end)[:-1]] if reply.pace else [reply.body]
