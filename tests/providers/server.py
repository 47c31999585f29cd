"""A provider's server on loopback that answers from a script, in the provider's own protocol."""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote

from tests.providers.turns import Dialect, Json, Refusal, Said


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Json:
        """The request's body."""
        found: Json = json.loads(self.raw)
        return found


class ProviderServer:
    """Answers each request with the next of its script; runs once it is made.

    Attributes:
        requests: Those that came, in order.
        unexpected: Paths of those for which nothing was left.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.begin(dialect)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def begin(self, dialect: Dialect) -> None:
        """Know nothing of what was asked before."""
        self.dialect = dialect
        self.requests: list[Asked] = []
        self.unexpected: list[str] = []
        self.replies: list[Said] = []

    @property
    def address(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *replies: Said) -> Self:
        """Add replies at the end."""
        self.replies.extend(replies)
        return self

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, asked: Asked) -> Said:
        """The reply to a request."""
        self.requests.append(asked)
        if self.replies:
            return self.replies.pop(0)
        self.unexpected.append(asked.path)
        return Refusal(400, message="Nothing is left in the script.")


def _handler(server: ProviderServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            path = unquote(self.path)
            assert server.dialect.is_stream(path, json.loads(raw)), "always"
            said = server.take(Asked(path, headers, raw))
            if isinstance(said, Refusal) and not said.mid_stream:
                body, more = server.dialect.refusal(said)
                self._whole(body, said.status, {**more, **said.headers})
            else:
                broken = isinstance(said, Refusal)
                write: Any = server.dialect.broken if broken else server.dialect.stream
                self._pieces(write(said))

        def _whole(self, body: Json, status: int, headers: dict[str, str]) -> None:
            said = json.dumps(body).encode()
            own = {"Content-Type": "application/json", "Content-Length": str(len(said))}
            self._head(status, {**own, **headers})
            self.wfile.write(said)

        def _pieces(self, said: list[bytes]) -> None:
            kind = server.dialect.content_type
            self._head(200, {"Content-Type": kind, "Transfer-Encoding": "chunked"})
            for piece in said:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

        def _head(self, status: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler
