"""LangSmith by its own variables: what is sent there, and that it never costs a run anything."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.manus.program import Program
from tests.server import ScriptedServer, call, text


class _Handler(BaseHTTPRequestHandler):
    """Takes what its client sends; it says nothing of compression, so that it comes as it is."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def do_POST(self) -> None:
        POSTS.append(self.rfile.read(int(self.headers["Content-Length"])))
        KEYS.add(self.headers["x-api-key"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


POSTS: list[bytes] = []
KEYS: set[str] = set()


@pytest.fixture
def langsmith() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def switched_on(url: str) -> dict[str, str]:
    return {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "secret", "LANGSMITH_ENDPOINT": url}


def test_its_runs_are_those_of_the_graph(
    manus: Program, server: ScriptedServer, langsmith: str
) -> None:
    """In a new interpreter, where packages are loaded as a user has them."""
    server.script(call("bash", command="echo one"), text("Done."))
    result = manus.cold("run", "--thread", "a thread", "Do it.", **switched_on(langsmith))
    assert (result.code, result.out) == (0, "Done.\n")
    assert {"secret"} == KEYS
    sent = b"".join(POSTS)
    for name in ("manus", "think", "act", "stuck_check", "bash", "a thread"):
        assert f'"{name}"'.encode() in sent


def test_a_server_that_is_silent_costs_moments(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo hi"), text("Done."))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(64)
        silent = f"http://127.0.0.1:{bound.getsockname()[1]}"
        result = manus("run", "Do it.", **switched_on(silent))
    assert (result.code, result.out) == (0, "Done.\n")
