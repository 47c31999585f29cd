"""Starts the program in processes that need not import everything anew.

Most of a short call of the program is two seconds of imports, and the tests make well over a
hundred calls. So each is forked from Python's fork server, which has imported all there is to
import. What is forked is a process like any other: its own terminal or pipes, signals, exit code.
"""

import atexit
import fcntl
import os
import signal
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from multiprocessing import forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from tests.helpers.child import FORKS, PRELOADED, Process, forked

ROOT = Path(__file__).resolve().parents[2]
_MODULES = (
    *("manus.cli", "manus.commands.run", "manus.graph.flow", "manus.run_report.page", "manus.ui"),
    *("manus.sqlite", "manus.trace.as_text", "manus.threads", "manus.tools.catalog"),
    *("manus.models.openai_chat", "langchain_openai", "rich.console", "markdown_it"),
    *("anyio._backends._asyncio", "playwright.sync_api", "platformdirs", "psycopg_pool"),
)
FORKS.set_forkserver_preload([*PRELOADED, *_MODULES])


class Stream:
    """A descriptor that a forked process gets a copy of."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> Any:
        return _received, (DupFd(self.descriptor),)


def _received(sent: Any) -> Stream:
    return Stream(sent.detach())


def fork(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
) -> AbstractContextManager[Process]:
    """Be `manus ARGUMENTS` for a block; the streams are its stdin, stdout and stderr."""
    return forked(_become, list(arguments), folder, dict(environment), [*map(Stream, streams)])


def server_pid() -> int:
    """The process that all are forked from."""
    forkserver.ensure_running()
    return forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined, no-any-return]


def _become(
    arguments: list[str], folder: Path, environment: dict[str, str], streams: list[Stream]
) -> None:
    """Be the program: its session, streams, folder and environment, and Python's streams anew.

    Signals are as a terminal's shell has them: tests that were started in the background, or by
    `nohup`, have some of them ignored.
    """
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ignored in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream.descriptor, number)
        os.close(stream.descriptor)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(ROOT / "manus" / "__main__.py"), *arguments]
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", 1 if os.isatty(1) else -1, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8")
    from manus.cli import main as program

    try:
        sys.exit(program(arguments))
    finally:
        atexit._run_exitfuncs()
