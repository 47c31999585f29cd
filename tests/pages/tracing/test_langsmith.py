"""LangSmith, configured by its own variables: the traces that it gets; failures are harmless."""

import contextlib
import gzip
import socket
from collections import defaultdict

import pytest

from tests.browser.site import Request, Site
from tests.cli.program import Program
from tests.server import ScriptedServer, call, text


def switched_on(url: str) -> dict[str, str]:
    return {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "secret", "LANGSMITH_ENDPOINT": url}


def test_its_runs_are_those_of_the_graph(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    """In a new interpreter, so that packages are imported as for a user."""
    server.script(call("bash", command="echo one"), text("Done."))
    with contextlib.closing(Site()) as langsmith:
        # it does not offer compression, so that everything arrives uncompressed
        langsmith.pages = defaultdict(lambda: "{}")
        result = manus.cold("run", "--thread", "a thread", "Do it.", **switched_on(langsmith.base))
    assert (result.code, result.out) == (0, "Done.\n")
    posts = [request for request in langsmith.requests if request.method == "POST"]
    assert {request.headers["x-api-key"] for request in posts} == {"secret"}
    body = b"".join(request.body for request in posts)
    for name in ("manus", "think", "act", "stuck_check", "bash", "a thread"):
        with subtests.test(name=name):
            assert f'"{name}"'.encode() in body


def test_one_setting_sends_spans(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.script(call("bash", command="echo one"), text("Done."))
    with contextlib.closing(Site()) as collector:
        collector.pages = defaultdict(str)
        result = manus.cold("run", "--thread", "t", "Do it.", MANUS_TRACING=collector.base)
    assert (result.code, result.out) == (0, "Done.\n")
    assert {(request.method, request.path) for request in collector.requests} == {
        ("POST", "/v1/traces")
    }
    body = b"".join(map(_unpack, collector.requests))
    for name in ("gen_ai.usage.input_tokens", "gen_ai.request.model", "bash", "think"):
        with subtests.test(name=name):
            assert name.encode() in body


def _unpack(request: Request) -> bytes:
    is_packed = request.headers.get("Content-Encoding") == "gzip"
    return gzip.decompress(request.body) if is_packed else request.body


def test_a_silent_server_costs_little_time(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo hi"), text("Done."))
    with socket.create_server(("127.0.0.1", 0), backlog=64) as bound:
        silent = f"http://127.0.0.1:{bound.getsockname()[1]}"
        result = manus("run", "Do it.", **switched_on(silent))
    assert (result.code, result.out) == (0, "Done.\n")
