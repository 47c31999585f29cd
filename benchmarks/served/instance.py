"""Redis, and an instance of Aegra: processes on loopback that end with the benchmark."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from benchmarks.served.environment import ROOT
from tests.helpers.port import free_port

TOKEN = "token-of-the-benchmark"
_PATIENCE = 120.0
_OUTSIDE = re.compile(r"(OPENAI|MANUS|LANG\w+|XDG)_.*|PYTHON(PATH|HOME)|VIRTUAL_ENV")


class Redis:
    """A Redis server in memory."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        self._process = subprocess.Popen(
            ["redis-server", *map(str, options)], stdout=subprocess.DEVNULL
        )

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class Instance:
    """An Aegra server: its process, its log, and the failures that can be caused."""

    def __init__(self, python: Path, folder: Path, settings: dict[str, str]) -> None:
        self.port = free_port()
        self.log = folder / "log"
        self._python = python
        self._folder = folder
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "home").mkdir(parents=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the process; `wait_until_ready` waits for it."""
        environment = {
            name: text for name, text in os.environ.items() if not _OUTSIDE.fullmatch(name)
        }
        home = {"HOME": str(self._folder / "home"), "PYTHONPATH": str(ROOT)}
        own = {"MANUS_SERVER_TOKEN": TOKEN, "PORT": str(self.port)}
        options = ["--host", "127.0.0.1", "--port", str(self.port)]
        options += ["--timeout-graceful-shutdown", "2"]
        command = [str(self._python), "-m", "uvicorn", "--factory", "manus.served:create_aegra_app"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options],
                cwd=self._folder,
                env={**environment, **home, **own, **self._settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait_until_ready(self) -> None:
        """Wait until the server accepts requests."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline and self._process and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/ready", timeout=5):
                    return
            except (OSError, urllib.error.HTTPError):
                time.sleep(0.1)
        raise RuntimeError(f"Aegra does not answer:\n{self.log.read_text()[-3000:]}")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def has_exited(self) -> bool:
        assert self._process is not None
        return self._process.poll() is not None
