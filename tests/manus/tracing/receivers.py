"""Servers that take traces: one for OTLP, one that speaks as LangSmith does, one that is silent."""

from __future__ import annotations

import json
import re
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import zstandard
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Post:
    path: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """An HTTP server that keeps what it is sent.

    Its address has a path of its own: a process that still sends to another test's receiver, which
    had the same port before, is not heard.
    """

    def __init__(self, info: dict[str, Any] | None = None) -> None:
        self.posts: list[Post] = []
        self.info = info or {}
        self._path = f"/{secrets.token_hex(4)}"
        self.is_silent = False
        """Whether it never answers what it is sent."""
        self._closing, self._came = threading.Event(), threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._serving = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._serving.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{self._path}"

    def wait_for_post(self) -> None:
        """Wait until something has come."""
        assert self._came.wait(60), "nothing was sent"

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._serving.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(200, json.dumps(receiver.info).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not self.path.startswith(receiver._path):
                    self._answer(404, b"")
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                path = self.path.removeprefix(receiver._path)
                receiver.posts.append(Post(path, headers, body))
                receiver._came.set()
                if receiver.is_silent:
                    receiver._closing.wait()
                    self.close_connection = True
                    return  # whoever sent it has long gone
                self._answer(200, b"")

            def _answer(self, code: int, body: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler


class Collector(Receiver):
    """Takes spans over OTLP/HTTP."""

    @property
    def spans(self) -> dict[str, dict[str, str]]:
        """The attributes of the spans so far, by name."""
        found = {}
        for post in self.posts:
            for sent in ExportTraceServiceRequest.FromString(post.body).resource_spans:
                for span in (span for scope in sent.scope_spans for span in scope.spans):
                    found[span.name] = {a.key: a.value.string_value for a in span.attributes}
        return found


_PART = re.compile(
    rb'name="(post|patch)\.([0-9a-f-]{36})(?:\.(\w+))?".*?\r\n\r\n(.*?)\r\n--', re.DOTALL
)


class LangSmith(Receiver):
    """Takes runs as LangSmith does: in parts, compressed where it says that it can read that."""

    def __init__(self) -> None:
        super().__init__(
            {
                "version": "0.12",
                "instance_flags": {"zstd_compression_enabled": True},
                "batch_ingest_config": {
                    "use_multipart_endpoint": True,
                    "scale_up_qsize_trigger": 1000,
                    "scale_up_nthreads_limit": 16,
                    "scale_down_nempty_trigger": 4,
                    "size_limit": 100,
                    "size_limit_bytes": 20_000_000,
                },
            }
        )

    @property
    def runs(self) -> dict[str, dict[str, Any]]:
        """The runs by id, with what was added at their ends."""
        found: dict[str, dict[str, Any]] = {}
        for post in self.posts:
            assert post.path == "/runs/multipart"
            body = post.body
            if post.headers.get("content-encoding") == "zstd":
                body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
            for _, run, part, data in _PART.findall(body):
                said = json.loads(data)
                known = found.setdefault(run.decode(), {})
                known.update({part.decode(): said} if part else said)
        return found


@contextmanager
def silent() -> Iterator[str]:
    """An address that takes every connection and never says a word."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(64)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
