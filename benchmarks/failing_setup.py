"""How long it takes until a wrong key, model name or address is said, from the shell and back.

    python -m benchmarks.failing_setup [--repeat 5]

The whole of `manus run`: a new interpreter, its imports, the store of threads, the request, the
sentence. The server is a small one on this machine that refuses; it has no latency. On a machine
that has other work, the seconds of a processor say more than those of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Refusing(BaseHTTPRequestHandler):
    """Knows one key and no model; below `/chat` it can only be asked for chat."""

    requests = 0

    def do_GET(self) -> None:
        if self.path.startswith("/v1/models/"):
            self._refuse()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith(("/v1/", "/chat/v1/")):
            self._refuse()
        else:
            self.send_error(404)

    def _refuse(self) -> None:
        type(self).requests += 1
        known = self.headers.get("Authorization") == "Bearer right"
        code = "model_not_found" if known else "invalid_api_key"
        body = json.dumps({"error": {"message": "No.", "code": code}}).encode()
        self.send_response(404 if known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def cases(port: int) -> dict[str, dict[str, str]]:
    """What is wrong, and the environment that has it so."""
    here, chat = f"http://127.0.0.1:{port}/v1", f"http://127.0.0.1:{port}/chat/v1"
    return {
        "wrong key": {"MANUS_API_KEY": "wrong", "MANUS_BASE_URL": here},
        "unknown model": {"MANUS_API_KEY": "right", "MANUS_BASE_URL": here},
        "wrong key, told by chat alone": {"MANUS_API_KEY": "wrong", "MANUS_BASE_URL": chat},
        "wrong path": {"MANUS_BASE_URL": f"http://127.0.0.1:{port}"},
        "no address": {"MANUS_BASE_URL": f"127.0.0.1:{port}"},
        "nobody listens": {"MANUS_BASE_URL": f"http://127.0.0.1:{_free_port()}/v1"},
        "no such host": {"MANUS_BASE_URL": "http://no.such.host.invalid/v1"},
    }


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(environment: dict[str, str]) -> tuple[float, float, str]:
    """Seconds until the program has ended, those of a processor it used, and what it said."""
    dropped = ("MANUS_", "OPENAI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    root = str(Path(__file__).resolve().parents[1])
    with tempfile.TemporaryDirectory() as home:
        given = {**kept, "HOME": home, "PYTHONPATH": root, "NO_PROXY": "127.0.0.1"}
        began, used = time.monotonic(), _cpu()
        done = subprocess.run(
            [sys.executable, "-m", "manus", "run", "Hello."],
            cwd=home,
            env={**given, "MANUS_MODEL": "some-model", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds, used = time.monotonic() - began, _cpu() - used
    said = (done.stdout.strip() or done.stderr.strip()).replace(root, ".")
    assert done.returncode in (1, 2), said
    assert "check MANUS_" in said or "must look like" in said, said
    return seconds, used, said


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("| what is wrong | median s | longest s | CPU s | requests a run |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, environment in cases(server.server_address[1]).items():
        before = _Refusing.requests
        taken, used, said = zip(*(measure(environment) for _ in range(repeat)), strict=True)
        each = (_Refusing.requests - before) / repeat
        middle, cpu = statistics.median(taken), statistics.median(used)
        print(f"| {name} | {middle:.2f} | {max(taken):.2f} | {cpu:.2f} | {each:g} |")
        print(f"  {said[0]}", file=sys.stderr)
    server.shutdown()


if __name__ == "__main__":
    main()
