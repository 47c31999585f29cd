"""Agents, flows and the program in separate processes, to be killed.

A short call of the program takes two seconds of imports. Therefore one process, Python's fork
server, imports everything once and forks for each call, so that a start takes milliseconds. A
forked process is like any other: its own terminal or pipes, signals, exit code.
"""

import asyncio
import atexit
import fcntl
import multiprocessing
import os
import signal
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from manus.config.context import Context
from manus.config.settings import Settings
from manus.graph import build_agent, build_flow
from manus.threads.open_store import open_store
from tests.flow.helpers import SECOND
from tests.helpers.agent import DELEGATOR, TESTER, ScriptedAgent, thread_config

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["__main__", __name__, "tests.helpers.preload"])
ROOT = Path(__file__).resolve().parents[2]
REQUEST = {"request": "Do it."}
_PATIENCE = 60.0

Process = multiprocessing.context.ForkServerProcess


def start_run(
    agent: ScriptedAgent, inputs: Any = None, run_id: str | None = None, **settings: Any
) -> AbstractContextManager[Process]:
    """Start a process that works on the thread `t` of an agent or a flow; it ends with the block.

    The input is a request, or None to resume.
    """
    config = thread_config("t", run_id)
    context = agent.context(**settings)
    place = (agent.address, agent.workspace.parent)
    return fork_call(_main, *place, config, context, inputs, agent.graph.name, dict(os.environ))


@contextmanager
def fork_call(target: Callable[..., None], *args: Any) -> Iterator[Process]:
    """Call a function in a new process; it ends with the block, and with the tests if they die."""
    child = FORKS.Process(target=_mortal, args=(target, *args), daemon=True)
    child.start()
    try:
        yield child
    finally:
        child.kill()
        child.join()


def wait_until(child: Process, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not ready():
        assert child.is_alive(), "it ended before"
        assert time.monotonic() < deadline
        time.sleep(0.002)


def killed_when(child: Process, ready: Callable[[], bool]) -> None:
    wait_until(child, ready)
    child.kill()
    child.join()


def _mortal(target: Callable[..., None], *args: Any) -> None:
    threading.Thread(target=_die_with_the_tests, daemon=True).start()
    target(*args)


def _die_with_the_tests() -> None:
    """End with the test process: the fork server would outlive it as long as a child runs."""
    tests = multiprocessing.parent_process()
    assert tests is not None
    tests.join()
    os.kill(os.getpid(), signal.SIGKILL)


def _main(
    address: str,
    folder: Path,
    config: RunnableConfig,
    context: Context,
    inputs: Any,
    who: str,
    environment: dict[str, str],
) -> None:
    _move(folder, environment)

    async def work() -> None:
        async with open_store(Settings(checkpoint=address)) as saver:
            if who == "flow":
                graph: Any = build_flow((TESTER, SECOND), checkpointer=saver)
            else:
                profiles = {profile.name: profile for profile in (DELEGATOR, TESTER)}
                graph = build_agent(profiles[who], checkpointer=saver)
            await graph.ainvoke(inputs, config, context=context)

    asyncio.run(work())


def _move(folder: Path, environment: Mapping[str, str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # cached by modules that were imported before the fork


class Stream:
    """A descriptor that a forked process gets a copy of."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> Any:
        return _receive, (DupFd(self.descriptor),)


def _receive(descriptor: Any) -> Stream:
    return Stream(descriptor.detach())


def fork(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
) -> AbstractContextManager[Process]:
    """Run `manus ARGUMENTS` for the duration of a block, with these stdin, stdout and stderr."""
    return fork_call(_become, list(arguments), folder, dict(environment), [*map(Stream, streams)])


def server_pid() -> int:
    """Return the id of the process that all others are forked from."""
    forkserver.ensure_running()
    return forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined, no-any-return]


def _become(
    arguments: list[str], folder: Path, environment: dict[str, str], streams: list[Stream]
) -> None:
    """Become the program: set session, streams, folder and environment; reopen Python's streams.

    Signals are reset as by a shell in a terminal: tests that were started in the background, or by
    `nohup`, ignore some of them.
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
    _move(folder, environment)
    sys.argv = [str(ROOT / "manus" / "__main__.py"), *arguments]
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", 1 if os.isatty(1) else -1, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8")
    from manus.cli.entry import main as program

    try:
        sys.exit(program(arguments))
    finally:
        atexit._run_exitfuncs()
