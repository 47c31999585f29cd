"""LangSmith by its own variables: what is sent there, and that it never costs a run anything."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.manus.program import Program
from tests.server import ScriptedServer, call, text


class _Handler(BaseHTTPRequestHandler):
    server: "LangSmith"

    def do_GET(self) -> None:
        self._answer(b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, self.headers["x-api-key"], body))
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class LangSmith(ThreadingHTTPServer):
    """Takes what its client sends; it says nothing of compression, so that it comes as it is."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.posts: list[tuple[str, str, bytes]] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def langsmith() -> Iterator[LangSmith]:
    with LangSmith() as made:
        yield made
        made.shutdown()


def switched_on(url: str) -> dict[str, str]:
    return {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "secret", "LANGSMITH_ENDPOINT": url}


def test_its_runs_are_those_of_the_graph(
    manus: Program, server: ScriptedServer, langsmith: LangSmith
) -> None:
    """In a new interpreter, where packages are loaded as a user has them."""
    server.script(call("bash", command="echo one"), text("Done."))
    manus.environment |= switched_on(langsmith.url)
    result = manus.cold("run", "--thread", "a thread", "Do it.")
    assert (result.code, result.out) == (0, "Done.\n")
    assert {key for _, key, _ in langsmith.posts} == {"secret"}
    sent = b"".join(body for _, _, body in langsmith.posts)
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
