"""The one place that starts a program the model wants: its environment, its end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import psutil

from manus.execution.process_output import PipeReader
from manus.execution.sandbox.confined import Confined
from manus.execution.sandbox.sandbox import CERTIFICATES, Sandbox
from manus.execution.workspace import Workspace
from manus.state.errors import ToolUnavailableError

_GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""
_PATIENCE = 10.0
"""Seconds after which an end is given up; only a process stuck in the kernel lives that long."""

# What a program needs to find its way; keys, tokens and our own settings are not among it.
_PASSED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR"),
        *("LD_LIBRARY_PATH", "LOCALE_ARCHIVE"),
        *CERTIFICATES,
        *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"),
    }
)
_PASSED_PREFIX = "LC_"
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that programs the model starts may see."""
    kept = {
        name: value
        for name, value in environment.items()
        if name in _PASSED or name.startswith(_PASSED_PREFIX)
    }
    if "HOME" not in kept:
        with contextlib.suppress(RuntimeError):  # a user without a home
            kept["HOME"] = str(Path.home())
    return {"PATH": _DEFAULT_PATH, **kept}


async def end(process: asyncio.subprocess.Process) -> None:
    """End a program, its session, and its children that have sessions of their own.

    A cancellation that comes meanwhile waits for it.
    """
    work = asyncio.ensure_future(asyncio.to_thread(_end, process.pid, process.returncode))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        await work
        raise
    with contextlib.suppress(TimeoutError):  # stuck in the kernel: nobody can end it
        async with asyncio.timeout(_PATIENCE):
            await process.wait()


def _end(root: int, returncode: int | None) -> None:
    """First SIGTERM, so that they can clean up, then SIGKILL to what is left. Blocking."""
    # A number is not given away while a session bears it: whoever has it now, has the session too.
    if returncode is not None and psutil.pid_exists(root):
        return
    left = _family(root)
    # the wall would take those behind it along at once; it falls when they have ended
    _signal([process for process in left if not _is_wall(process)], signal.SIGTERM)
    until = time.monotonic() + _GRACE
    while left and time.monotonic() < until:
        time.sleep(0.01)
        left = _family(root, left)
    until = time.monotonic() + _PATIENCE
    while left and time.monotonic() < until:
        # Stopped before they are killed: one that forks faster than we look would slip away.
        _signal(left, signal.SIGSTOP)
        _signal(_family(root, left), signal.SIGKILL)
        time.sleep(0.01)
        left = _family(root, left)


def _family(root: int, known: Iterable[psutil.Process] = ()) -> list[psutil.Process]:
    """The living processes of a session, and what comes from them; `known` count while they live.

    A daemon that has left its parent and its session is not among them: it ends with the
    container, or by its own command. Blocking.
    """
    found = {process.pid: process for process in known}
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error, OSError):  # it has just ended
            if pid not in found and os.getsid(pid) == root:
                found[pid] = psutil.Process(pid)
    for process in list(found.values()):
        with contextlib.suppress(psutil.Error):
            found.update((child.pid, child) for child in process.children(recursive=True))
    return [process for process in found.values() if _lives(process)]


def _lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _is_wall(process: psutil.Process) -> bool:
    """Whether it is the sandbox around a program, and not the program. Blocking."""
    with contextlib.suppress(psutil.Error):
        return bool(process.name() == "bwrap")
    return False


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):  # it has just ended
            process.send_signal(number)


async def start(
    argv: Sequence[str],
    *,
    directory: Path,
    output: int,
    stdin: int = asyncio.subprocess.DEVNULL,
    descriptors: Sequence[int] = (),
    extra: Mapping[str, str] | None = None,
    sandbox: Sandbox | None = None,
    read: Sequence[Path] = (),
) -> asyncio.subprocess.Process:
    """Start a program in a session of its own; stdout and stderr go to `output`, in order.

    `extra` goes on top of what `scrubbed` leaves. `descriptors` keep their numbers in it. Without
    a sandbox it is a program of ours; in one it may also `read` these files and folders.

    Raises:
        ToolUnavailableError: the program or the directory is not there, or may not be used.
    """
    try:
        words, environment = await asyncio.to_thread(
            _confined, argv, extra or {}, directory, sandbox, read
        )
        return await asyncio.create_subprocess_exec(
            *words,
            cwd=directory,
            env=environment,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=descriptors,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolUnavailableError(
            f"{argv[0]} cannot be started ({error.filename or argv[0]}: {error.strerror}); "
            "check that it is installed and that the workspace is there."
        ) from None


def _confined(
    argv: Sequence[str],
    extra: Mapping[str, str],
    directory: Path,
    sandbox: Sandbox | None,
    read: Sequence[Path],
) -> Confined:
    own = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8", **extra}
    environment = scrubbed(os.environ) | own
    if sandbox is None:
        return Confined(tuple(argv), environment)
    confined = sandbox.confine(argv, environment, directory, read)
    if shutil.which(argv[0], path=confined.environment["PATH"]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    return confined


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended: what it printed, and its exit code.

    That is minus the signal's number if one killed it, None if its time was up.
    """

    output: str
    returncode: int | None


async def run(
    argv: Sequence[str],
    *,
    workspace: Workspace,
    seconds: float,
    extra: Mapping[str, str] | None = None,
    sandbox: Sandbox | None = None,
    read: Sequence[Path] = (),
) -> Finished:
    """Run a program in the workspace to its end, or to the end of its time.

    Nothing that it has started is left afterwards, also when the caller is cancelled.

    Raises:
        ToolUnavailableError: it cannot be started.
    """
    reading, writing = os.pipe()
    reader = PipeReader(reading)
    try:
        try:
            process = await start(
                argv,
                directory=workspace.root,
                output=writing,
                extra=extra,
                sandbox=sandbox,
                read=read,
            )
        finally:
            os.close(writing)
        held = nullcontext() if sandbox is None else sandbox.limits.watching(process.pid)
        async with held:
            code = await _ended_within(process, seconds)
        capture = reader.take()
    finally:
        reader.close()
    if sandbox is not None and code is not None:
        code = sandbox.exit_code(code)
    return Finished(await asyncio.to_thread(capture.text), code)


async def _ended_within(process: asyncio.subprocess.Process, seconds: float) -> int | None:
    try:
        async with asyncio.timeout(seconds):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        await end(process)


def exit_state(returncode: int) -> str:
    """How a program ended, in words: `exit code 3`, `killed by SIGKILL`."""
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        return f"killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"killed by signal {-returncode}"
