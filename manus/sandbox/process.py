"""Start, run and terminate the programs of the model, with a scrubbed environment."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from manus.sandbox.child import Child
from manus.sandbox.confined import Confined
from manus.sandbox.host_programs import find_host_path
from manus.sandbox.landlock import SUPERVISOR
from manus.sandbox.process_output import PipeReader
from manus.sandbox.sandbox import CERTIFICATE_VARIABLES, Sandbox
from manus.state.errors import ToolUnavailableError
from manus.workspace.workspace import Workspace

_GRACE_SECONDS = 0.5
"""Seconds between SIGTERM and SIGKILL."""
_KILL_TIMEOUT = 10.0
"""Seconds until killing is given up; only a process stuck in the kernel survives that long."""

# The variables that programs need, without keys, tokens and our own settings.
_ALLOWED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR"),
        *("LD_LIBRARY_PATH", "LOCALE_ARCHIVE"),
        *CERTIFICATE_VARIABLES,
        *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"),
    }
)
_ALLOWED_PREFIX = "LC_"
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def scrub_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that programs of the model may see."""
    allowed = {}
    for name, value in environment.items():
        if name in _ALLOWED or name.startswith(_ALLOWED_PREFIX):
            allowed[name] = value
    if "HOME" not in allowed:
        with contextlib.suppress(RuntimeError):  # a user without a home
            allowed["HOME"] = str(Path.home())
    return {"PATH": _DEFAULT_PATH, **allowed}


def build_host_environment() -> dict[str, str]:
    """Return the variables for a program outside the sandbox. Blocking."""
    return {**scrub_environment(os.environ), "PATH": find_host_path()}


async def end(process: Child) -> None:
    """Terminate a program, its session, and its children in other sessions.

    A cancellation is delayed until they have ended.
    """
    work = asyncio.ensure_future(asyncio.to_thread(_end, process.pid, process.returncode))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        await work
        raise
    with contextlib.suppress(TimeoutError):  # stuck in the kernel: it cannot be killed
        async with asyncio.timeout(_KILL_TIMEOUT):
            await process.wait()


def _end(root: int, returncode: int | None) -> None:
    """Send SIGTERM, so that programs can clean up, then SIGKILL to the remaining ones. Blocking."""
    # A pid is not reused while it names a session, so a process with this pid owns the session.
    if returncode is not None and psutil.pid_exists(root):
        return
    remaining = _find_processes(root)
    # killing the sandbox would kill its programs at once; it exits after them
    _signal([process for process in remaining if not _is_sandbox(process)], signal.SIGTERM)
    _signal(remaining, signal.SIGCONT)  # they may be stopped until the next call
    deadline = time.monotonic() + _GRACE_SECONDS
    while remaining and time.monotonic() < deadline:
        time.sleep(0.01)
        remaining = _find_processes(root, remaining)
    deadline = time.monotonic() + _KILL_TIMEOUT
    while remaining and time.monotonic() < deadline:
        # Stop them before killing, since a process that forks quickly could escape between scans.
        _signal(remaining, signal.SIGSTOP)
        _signal(_find_processes(root, remaining), signal.SIGKILL)
        time.sleep(0.01)
        remaining = _find_processes(root, remaining)


def _find_processes(root: int, existing: Iterable[psutil.Process] = ()) -> list[psutil.Process]:
    """Return the running processes of a session, their descendants, and `existing` ones. Blocking.

    A daemon that has left its parent and its session is not included.
    """
    processes = {process.pid: process for process in existing}
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error, OSError):  # it has just ended
            if pid not in processes and os.getsid(pid) == root:
                processes[pid] = psutil.Process(pid)
    for process in list(processes.values()):
        with contextlib.suppress(psutil.Error):
            processes.update((child.pid, child) for child in process.children(recursive=True))
    return [process for process in processes.values() if _is_alive(process)]


def _is_alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _is_sandbox(process: psutil.Process) -> bool:
    """Return whether a process is the sandbox of a program rather than the program. Blocking."""
    with contextlib.suppress(psutil.Error):
        return process.name() in ("bwrap", SUPERVISOR)
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
    stdin: int = subprocess.DEVNULL,
    descriptors: Sequence[int] = (),
    extra: Mapping[str, str] | None = None,
    sandbox: Sandbox | None = None,
    read: Sequence[Path] = (),
    writes_git: bool = False,
) -> Child:
    """Start a program in its own session; stdout and stderr go to `output`, in order.

    `extra` is added to the result of `scrub_environment`. `descriptors` are inherited with their
    numbers. Without a sandbox, the program must be one of our own; in a sandbox, it may also read
    the files and folders in `read`, and with `writes_git` change repositories.

    Raises:
        ToolUnavailableError: the program or the directory is missing, or must not be used.
    """
    try:
        words, environment = await asyncio.to_thread(
            _confine, argv, extra or {}, directory, sandbox, read, writes_git
        )
        launch = partial(
            Child.launch,
            words,
            directory=directory,
            environment=environment,
            stdin=stdin,
            output=output,
            descriptors=descriptors,
        )
        if sandbox is None:
            return launch()
        supervisor = await sandbox.supervise()
        process = launch() if supervisor is None else await supervisor.start(launch)
        sandbox.programs.register(process)
        return process
    except OSError as error:
        raise ToolUnavailableError(
            f"Cannot start {argv[0]} ({error.filename or argv[0]}: {error.strerror}); "
            "check that it is installed and that the workspace exists."
        ) from None


def _confine(
    argv: Sequence[str],
    extra: Mapping[str, str],
    directory: Path,
    sandbox: Sandbox | None,
    read: Sequence[Path],
    writes_git: bool,
) -> Confined:
    own = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8", **extra}
    environment = scrub_environment(os.environ) | own
    if sandbox is None:
        return Confined(tuple(argv), environment)
    confined = sandbox.confine(argv, environment, directory, read, writes_git=writes_git)
    if shutil.which(argv[0], path=confined.environment["PATH"]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    return confined


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The output and the exit code of a program.

    The code is minus the signal's number if a signal killed it, None after a timeout.
    """

    output: str
    returncode: int | None


async def run(
    argv: Sequence[str],
    *,
    workspace: Workspace,
    seconds: float,
    stdin: int = subprocess.DEVNULL,
    extra: Mapping[str, str] | None = None,
    sandbox: Sandbox | None = None,
    read: Sequence[Path] = (),
) -> ProcessResult:
    """Run a program in the workspace until it exits, or until the timeout.

    All its processes are terminated afterwards, also when the caller is cancelled.

    Raises:
        ToolUnavailableError: the program cannot be started.
    """
    reading, writing = os.pipe()
    reader = PipeReader(reading)
    try:
        try:
            process = await start(
                argv,
                directory=workspace.root,
                output=writing,
                stdin=stdin,
                extra=extra,
                sandbox=sandbox,
                read=read,
            )
        finally:
            os.close(writing)
        watch = nullcontext() if sandbox is None else sandbox.limits.watch(process.pid)
        async with watch:
            code = await _wait_with_timeout(process, seconds)
        capture = reader.take()
    finally:
        reader.close()
    if sandbox is not None and code is not None:
        code = sandbox.exit_code(code)
    return ProcessResult(await asyncio.to_thread(capture.text), code)


async def _wait_with_timeout(process: Child, seconds: float) -> int | None:
    try:
        async with asyncio.timeout(seconds):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        await end(process)


def exit_state(returncode: int) -> str:
    """Describe how a program ended: `exit code 3`, `killed by SIGKILL`."""
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        return f"killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"killed by signal {-returncode}"
