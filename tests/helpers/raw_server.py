"""A server that answers with bytes as they are: for what no well-behaved HTTP server does."""

import contextlib
import socket
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What is sent to one request.

    Attributes:
        pieces: Bytes, each sent by itself.
        then: `close` the connection, `keep` it for another request, `reset` it, or, as servers do
            whose patience with an idle connection is at its end, close it `unread` when the next
            request comes.
    """

    pieces: Sequence[bytes]
    then: str = "close"


class RawServer:
    """Listens on loopback. `requests` are the bodies that came, `lines` their first lines."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.lines: list[str] = []
        self.connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Without a path."""
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    @property
    def base_url(self) -> str:
        """As the settings have it."""
        return f"{self.address}/v1"

    def close(self) -> None:
        """End every connection."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._open.add(connection)
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError), connection:
            then = "keep"
            while then == "keep" and self._read(connection):
                with self._lock:
                    answer = self.answers.pop(0)
                for piece in answer.pieces:
                    connection.sendall(piece)
                then = answer.then
            if then == "unread":
                connection.recv(1)  # its next request comes, and it goes
            if then in ("reset", "unread"):
                no_linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_linger)
        self._open.discard(connection)

    def _read(self, connection: socket.socket) -> bool:
        """One request; False where there is none any more."""
        received = b""
        while b"\r\n\r\n" not in received:
            if not (more := connection.recv(65536)):
                return False
            received += more
        head, _, body = received.partition(b"\r\n\r\n")
        fields = dict(
            line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line
        )
        length = int(fields.get(b"content-length", b"0"))
        while len(body) < length:
            body += connection.recv(65536)
        self.lines.append(head.split(b"\r\n")[0].decode())
        self.requests.append(body)
        return True
