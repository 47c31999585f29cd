"""The web site of a task, on loopback: its pages, and a record of the forms that were sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs


class _Site(SimpleHTTPRequestHandler):
    def __init__(self, *args: Any, posted: Path, **options: Any) -> None:
        self._posted = posted
        super().__init__(*args, **options)

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        form = parse_qs(self.rfile.read(size).decode(), keep_blank_values=True)
        with self._posted.open("a") as record:
            record.write(json.dumps({"path": self.path, "form": form}) + "\n")
        thanks = b"<!doctype html><title>Thank you</title><h1>Thank you, it has arrived.</h1>"
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(thanks)))
        self.end_headers()
        self.wfile.write(thanks)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def served(folder: Path, posted: Path) -> Iterator[str]:
    """The site's address while the block lasts; forms that are sent go to `posted`, one a line."""
    handler = partial(_Site, directory=str(folder), posted=posted)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
