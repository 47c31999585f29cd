"""One reply on its way over one connection."""

import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.server.replies import Cut, Fail, Flag, Hang, Message, Raw, Reply
from tests.server.request import Request
from tests.server.wire import Ids, frames

_POLL_SECONDS = 0.005


class Connection:
    """Sends replies through an HTTP handler, and knows how to stall and to break off."""

    def __init__(self, handler: BaseHTTPRequestHandler, closing: threading.Event) -> None:
        self._handler = handler
        self._closing = closing

    def send(self, reply: Reply, request: Request, ids: Ids) -> None:
        """Send a reply of any kind."""
        match reply:
            case Message():
                self._send_frames(frames(reply, request, ids), request.stream, reply.pace)
            case Fail():
                self.send_json({"error": dict(reply.error)}, reply.status, reply.headers)
            case Raw():
                self._send_whole(reply.body, reply.status, reply.content_type, reply.headers)
            case Cut():
                self._cut(frames(reply.reply, request, ids), reply.after_chunks, request.stream)
            case Hang():
                said = frames(reply.reply or Message("So"), request, ids)
                self._hang(reply, said, request.stream)

    def send_json(
        self, body: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a JSON body."""
        self._send_whole(json.dumps(body).encode(), status, "application/json", headers or {})

    def _send_whole(
        self, body: bytes, status: int, content_type: str, headers: Mapping[str, str]
    ) -> None:
        length = {"Content-Type": content_type, "Content-Length": str(len(body))}
        self._head({**length, **headers}, status)
        self._handler.wfile.write(body)

    def _send_frames(self, said: list[bytes], stream: bool, pace: float = 0.0) -> None:
        self._open(said, stream)
        for frame in said:
            self._closing.wait(pace)
            self._write([frame], stream)
        self._end(stream)

    def _cut(self, said: list[bytes], after: int, stream: bool) -> None:
        if after > 0:
            self._open(said, stream)
            self._write(said[: min(after, len(said) - 1)], stream)
        self._drop()

    def _hang(self, reply: Hang, said: list[bytes], stream: bool) -> None:
        after = min(reply.after_chunks, len(said) - 1)
        if after > 0:
            self._open(said, stream)
            self._write(said[:after], stream)
        if not self._released(reply.until) or reply.reply is None:
            self._drop()
            return
        if after <= 0:
            self._open(said, stream)
        self._write(said[after:], stream)
        self._end(stream)

    def _released(self, until: float | Flag | None) -> bool:
        """Wait; False when the server was closed first."""
        if until is None:
            return not self._closing.wait()
        if isinstance(until, int | float):
            return not self._closing.wait(until)
        while not until.is_set():
            if self._closing.is_set():
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _open(self, said: list[bytes], stream: bool) -> None:
        if stream:
            event_stream = "text/event-stream; charset=utf-8"
            self._head({"Content-Type": event_stream, "Transfer-Encoding": "chunked"})
        else:
            length = str(sum(map(len, said)))
            self._head({"Content-Type": "application/json", "Content-Length": length})

    def _head(self, headers: Mapping[str, str], status: int = 200) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def _write(self, said: list[bytes], stream: bool) -> None:
        for frame in said:
            chunk = b"%x\r\n%b\r\n" % (len(frame), frame) if stream else frame
            self._handler.wfile.write(chunk)

    def _end(self, stream: bool) -> None:
        if stream:
            self._handler.wfile.write(b"0\r\n\r\n")

    def _drop(self) -> None:
        self._handler.close_connection = True
