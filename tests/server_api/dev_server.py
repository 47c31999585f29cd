"""`langgraph dev` as a user runs it: in a clean copy of the repository, as a separate process."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.helpers import sandboxes
from tests.helpers.port import free_port

ROOT = Path(__file__).resolve().parents[2]
_LIMIT = 90.0
"""Seconds after which a server that does not start or end is considered hung."""


def clean_copy(folder: Path) -> Path:
    """Copy the files that belong to the repository, without any others."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, target = ROOT / name, folder / name
        if source.is_file() or source.is_symlink():  # unless it was deleted
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    assert not (folder / ".env").exists()
    return folder


class DevServer:
    def __init__(self, process: "subprocess.Popen[bytes]", url: str, log_file: Path) -> None:
        self.process = process
        self.url = url
        self._said = log_file

    @property
    def log(self) -> str:
        return re.sub(r"\x1b\[[0-9;]*m", "", self._said.read_text("utf-8", "replace"))

    def answers(self) -> bool:
        assert self.process.poll() is None, f"The server ended:\n{self.log}"
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/ok", timeout=5):
            return True
        return False

    def below(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, number: int) -> None:
        """Send a signal to its process group, and wait until it ends."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
        self.process.wait(_LIMIT)


@contextmanager
def serving(folder: Path, home: Path, **environment: str) -> Iterator[DevServer]:
    """Run a server for the duration of the block."""
    port = free_port()
    options = ["--no-browser", "--no-reload", "--n-jobs-per-worker", "10", "--port", str(port)]
    # a browser in the home of the user who runs the tests
    browsers = Path.home() / ".cache" / "ms-playwright"
    own = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "NO_PROXY": "127.0.0.1,localhost",
        "NO_COLOR": "1",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "PLAYWRIGHT_BROWSERS_PATH": os.environ.get("PLAYWRIGHT_BROWSERS_PATH", str(browsers)),
        # the packages of the copy, not those that the environment was installed from
        "PYTHONPATH": str(folder),
        "MANUS_SERVED_ROOT": "/tmp",
        **sandboxes.environment(),
        "MANUS_TRUST": "1",  # the copy's `manus.toml` applies
    }
    log_file = home / "langgraph_dev.log"
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "langgraph_cli", "dev", *options],
            cwd=folder,
            env={**own, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = DevServer(process, f"http://127.0.0.1:{port}", log_file)
    try:
        limit = time.monotonic() + _LIMIT
        while not server.answers():
            assert time.monotonic() < limit, f"The server does not answer:\n{server.log}"
            time.sleep(0.1)
        yield server
    finally:
        server.end(signal.SIGKILL)
