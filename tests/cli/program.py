"""The program as a user runs it: a separate process, with pipes or on a terminal."""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tests.cli.emulator import render_screen
from tests.helpers import sandboxes
from tests.helpers.child import ROOT, Process, fork
from tests.helpers.processes import processes_in

NO_BYTECODE = "export PYTHONDONTWRITEBYTECODE=1"
"""Shell command before a limit of file sizes: some releases of CPython would store truncated .pyc
files (https://github.com/python/cpython/issues/126606)."""

_LIMIT = 60.0
"""Seconds after which a process that does not end or print anything is considered hung."""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out.splitlines()[-1])

    @property
    def thread(self) -> str:
        return str(self.json["thread_id"])


class Program:
    """Runs `manus` with its own home and folder."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.home = home
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "NO_PROXY": "127.0.0.1",
            "MANUS_TRUST": "1",
            **sandboxes.environment(),
            **environment,
        }

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def database(self) -> Path:
        return self.home / ".local/share/manus/threads.sqlite"

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Result:
        """Run to the end with pipes."""
        with self.start(*arguments, stdin=stdin, environment=environment) as process:
            return process.end()

    def cold(self, *arguments: str, by: Sequence[str] = (), **environment: str) -> Result:
        """Run to the end in a new interpreter, as a shell does, or through another command."""
        process = subprocess.run(
            [*by, sys.executable, "-m", "manus", *arguments],
            cwd=self.home,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=100,
            check=False,
        )
        return Result(process.returncode, process.stdout.decode(), process.stderr.decode())

    @contextmanager
    def start(
        self,
        *arguments: str,
        stdin: str = "",
        out: int | None = None,
        err: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Iterator["Running"]:
        """Start in its own session; killed at the end of the block if it is still running.

        `out` and `err` are descriptors to write to instead of files.
        """
        with TemporaryFile() as stdin_file, TemporaryFile() as stdout, TemporaryFile() as stderr:
            streams = (
                stdin_file.fileno(),
                stdout.fileno() if out is None else out,
                stderr.fileno() if err is None else err,
            )
            stdin_file.write(stdin.encode())
            stdin_file.seek(0)
            variables = {**self.environment, **(environment or {})}
            with fork(arguments, self.home, variables, streams) as child:
                yield Running(child, *streams[1:])

    @contextmanager
    def terminal(self, *arguments: str, columns: int = 80) -> Iterator["Terminal"]:
        environment = {"TERM": "xterm-256color", **self.environment}
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        try:
            with fork(arguments, self.home, environment, (side, side, side)) as child:
                yield Terminal(child, main, side)
        finally:
            os.close(side)
            os.close(main)

    def on_terminal(self, *arguments: str, columns: int = 80) -> "Terminal":
        """Run successfully on a terminal, without any input."""
        with self.terminal(*arguments, columns=columns) as terminal:
            assert terminal.wait() == 0, terminal.text
        return terminal

    def end_leftovers(self) -> None:
        """End the processes that a killed program left running in its folder."""
        for pid in processes_in(self.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _read_so_far(descriptor: int) -> str:
    """Return what has been written to a file so far; nothing for anything but a file."""
    about = os.fstat(descriptor)
    return os.pread(descriptor, about.st_size, 0).decode() if stat.S_ISREG(about.st_mode) else ""


class Running:
    def __init__(self, child: Process, out: int, err: int) -> None:
        self._child = child
        self._out, self._err = out, err

    @property
    def pid(self) -> int:
        assert self._child.pid is not None
        return self._child.pid

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(self.pid, number)

    def end(self) -> Result:
        self._child.join()
        return Result(self._child.exitcode or 0, _read_so_far(self._out), _read_so_far(self._err))

    def line(self) -> str:
        wait_until(lambda: "\n" in _read_so_far(self._out), "a line on stdout")
        return _read_so_far(self._out).partition("\n")[0]

    def expect(self, words: str) -> None:
        """Wait until the text appears on stderr."""
        wait_until(lambda: words in _read_so_far(self._err), f"{words!r} on stderr")


class Terminal:
    """The running program on a terminal, which is its stdin, stdout and stderr."""

    def __init__(self, child: Process, descriptor: int, side: int) -> None:
        self._child = child
        self._descriptor = descriptor
        self._side = side
        self.raw = ""

    @property
    def text(self) -> str:
        """Return the visible text without colors; erased text is not included."""
        return render_screen(self.raw)

    def expect(self, words: str, *, last: bool = False) -> None:
        limit = time.monotonic() + _LIMIT
        is_shown = str.endswith if last else str.__contains__
        while not is_shown(self.text.rstrip(), words.rstrip()):
            assert self._read(limit), f"{words!r} is not shown:\n{self.text}"

    def expect_last(self, words: str) -> None:
        """Wait until the screen ends with the text."""
        self.expect(words, last=True)

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def wait(self) -> int:
        """Read to the end; return the exit code."""
        limit = time.monotonic() + _LIMIT
        while self._child.is_alive():
            assert time.monotonic() < limit, f"It does not end:\n{self.text}"
            self._read(time.monotonic() + 0.02)
        while self._read(0):
            pass
        return self._child.exitcode or 0

    def left_over(self) -> str:
        """Return typed input that was not read; a shell would read it next. Call after `wait`."""
        modes = termios.tcgetattr(self._side)
        modes[3] &= ~termios.ICANON
        modes[6][termios.VMIN], modes[6][termios.VTIME] = 0, 0
        termios.tcsetattr(self._side, termios.TCSANOW, modes)
        return os.read(self._side, 65536).decode()

    def echoes(self) -> bool:
        """Return whether the terminal echoes input in line mode, as a shell expects."""
        modes = termios.tcgetattr(self._side)[3]
        return bool(modes & termios.ECHO and modes & termios.ICANON)

    def _read(self, limit: float) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], max(limit - time.monotonic(), 0))
        if not ready:
            return False
        try:
            piece = os.read(self._descriptor, 65536)
        except OSError:  # the other end is closed
            return False
        self.raw += piece.decode("utf-8", "replace")
        return bool(piece)


def wait_until(is_so: Any, description: str) -> None:
    end = time.monotonic() + _LIMIT
    while not is_so():
        assert time.monotonic() < end, f"{description} did not come"
        select.select([], [], [], 0.01)


def wait_for_file(path: Path) -> str:
    """Return the text of a file that another process writes, once it is not empty."""
    wait_until(lambda: path.exists() and path.read_text(), str(path))
    return path.read_text()
