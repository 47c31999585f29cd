"""A server of which only its paths, its statuses and what it was asked matter."""

import http.server
import json
import threading
from typing import Any, Self


class Paths:
    """A server that has a status for each of some paths, and none else."""

    def __init__(self, known: dict[str, int | tuple[int, dict[str, Any]]]) -> None:
        self.asked: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.fields: list[dict[str, str]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(f"{self.command} {self.path}")
                outer.fields.append({name.lower(): v for name, v in self.headers.items()})
                found = known.get(outer.asked[-1], 404)
                status, told = (found, {}) if isinstance(found, int) else found
                self.send_response(status)
                self.send_header("Content-Length", str(len(json.dumps(told))))
                self.end_headers()
                self.wfile.write(json.dumps(told).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append(json.loads(body))
                self.do_GET()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._listener.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown()
        self._listener.server_close()
