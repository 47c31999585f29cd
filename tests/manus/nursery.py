"""Starts the program in processes that need not import everything anew.

Most of a short call of the program is two seconds of imports, and the tests make well over a
hundred calls. So one process a test session imports all there is to import and forks for each
call. What is forked is a process like any other: its own terminal or pipes, signals, exit code.
"""

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
_MODULES = (
    "langchain_openai",
    "langgraph.checkpoint.sqlite",
    "rich.console",
    "rich.text",
    "httpx",
    "psutil",
    "graph",
    "manus.models.openai_chat",
    "anyio.streams.tls",
    "anyio._backends._asyncio",
    "h11",
    "httpcore2",
    "openai.resources.chat.completions.completions",
    "markdown_it",
    "playwright.sync_api",
    "platformdirs",
    "manus.tools.ask_human",
    "manus.tools.bash",
    "manus.tools.browser_use",
    "manus.tools.python_execute",
    "manus.tools.str_replace_editor",
    "manus.tools.web_search",
    "manus.cli",
    "manus.commands.run",
    "manus.graph.flow",
    "manus.run",
    "manus.trace.as_text",
    "manus.run_report.page",
    "manus.sqlite",
    "manus.threads",
)
_OPTIONAL = ("langgraph.checkpoint.postgres.aio", "psycopg_pool")


class Nursery:
    """The process that forks, seen from the tests."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.manus.nursery", str(theirs.fileno())],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self.pid = self._process.pid

    def fork(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        *,
        on_terminal: bool = False,
    ) -> "Child":
        """Start `manus ARGUMENTS`; the streams are its stdin, stdout and stderr."""
        order = {
            "arguments": list(arguments),
            "folder": str(folder),
            "environment": dict(environment),
            "on_terminal": on_terminal,
        }
        packed = json.dumps(order).encode()
        reading, writing = os.pipe()
        socket.send_fds(self._ours, [len(packed).to_bytes(4)], [*streams, writing])
        self._ours.sendall(packed)
        os.close(writing)
        return Child(os.fdopen(reading, "r"))

    def close(self) -> None:
        self._ours.close()
        self._process.wait()


class Child:
    """A process that the nursery has forked; its methods are those of `subprocess.Popen`."""

    def __init__(self, status: IO[str]) -> None:
        self._status = status
        self.pid = int(status.readline())
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        """The exit code, negative for a signal."""
        if self.returncode is None:
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode


def main(handle: int) -> None:
    """Fork for each order that comes, until there is nobody to give any."""
    for name in _MODULES:
        importlib.import_module(name)
    for name in _OPTIONAL:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # the collector of a fork would write to every page of it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=handle) as orders:
        while True:
            length, streams, _, _ = socket.recv_fds(orders, 4, 4)
            if not length:
                return
            order = _read(orders, int.from_bytes(length))
            if os.fork() == 0:
                orders.close()
                _watch(order, streams)
            for stream in streams:
                os.close(stream)


def _read(orders: socket.socket, length: int) -> Any:
    packed = b""
    while len(packed) < length:
        packed += orders.recv(length - len(packed))
    return json.loads(packed)


def _watch(order: dict[str, Any], streams: list[int]) -> None:
    """Start the program, and tell its process id and then its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = streams.pop()
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _become(order, streams)
    for stream in streams:
        os.close(stream)
    os.write(status, f"{pid}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(status, f"{code}\n".encode())
    os._exit(0)


def _become(order: dict[str, Any], streams: list[int]) -> None:
    """Be the program: its session, streams, folder and environment, and Python's streams anew.

    Signals are as a terminal's shell has them: tests that were started in the background, or by
    `nohup`, have some of them ignored.
    """
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ignored in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if order["on_terminal"]:
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", 1 if os.isatty(1) else -1, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8")
    from manus.cli import main as program

    sys.exit(program(order["arguments"]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
