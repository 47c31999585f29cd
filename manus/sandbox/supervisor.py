"""Report which paths the programs of a sandbox change (`man 2 seccomp_unotify`).

A thread of this process installs a seccomp filter for itself and starts all programs of the
sandbox, which inherit the filter. Before the kernel executes a call that may change files, a second
thread reads the call's paths and reports them; then the call proceeds. This attributes changes, but
prevents none: a program could replace a path after it was read (TOCTOU).
"""

# ruff: noqa: PTH115, PTH208 - creating a `Path` takes as long as these calls
from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import select
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from manus.sandbox.child import Child
from manus.sandbox.notifications import Notifications, SystemCall
from manus.sandbox.seccomp import build_write_filter, get_call_number

log = logging.getLogger("manus")

_CURRENT_FOLDER = -100
_LONGEST_CALL = 1.0
"""Seconds after which a call has certainly been executed, unless it blocks."""

Operand = tuple[int | None, int | None]
"""Indexes of two arguments: the descriptor of a folder, and a path relative to it."""
_FIRST: tuple[Operand, ...] = ((None, 0),)
_AT: tuple[Operand, ...] = ((0, 1),)
_OPERANDS: dict[str, tuple[Operand, ...]] = {
    **dict.fromkeys(("open", "creat", "truncate", "unlink", "rmdir", "mkdir"), _FIRST),
    **dict.fromkeys(("mknod", "chmod"), _FIRST),
    **dict.fromkeys(("openat", "openat2", "unlinkat", "mkdirat", "mknodat"), _AT),
    **dict.fromkeys(("fchmodat", "fchmodat2"), _AT),
    "fchmod": ((0, None),),
    "rename": ((None, 0), (None, 1)),
    **dict.fromkeys(("renameat", "renameat2"), ((0, 1), (2, 3))),
    "link": ((None, 0), (None, 1)),
    "linkat": ((0, 1), (2, 3)),
    "symlink": ((None, 1),),
    "symlinkat": ((1, 2),),
}
"""The paths that each call may change."""
_FOLLOWING = ("open", "openat", "openat2", "creat", "truncate", "chmod", "fchmodat", "fchmodat2")
"""Calls that change the target of a link."""
_MOVING = ("rename", "renameat", "renameat2")
_CHANGING_FOLDERS = (*_MOVING, "mkdir", "mkdirat", "symlink", "symlinkat")
"""Calls after which a path may lead to another folder."""


class WriteObserver(Protocol):
    """Receives the paths that programs are about to change."""

    def note(self, path: str) -> None:
        """Note a path relative to the workspace, before it changes."""

    def note_unknown(self, *, for_good: bool = False) -> None:
        """Note that a program may change any path, also from now on if it is `for_good`."""

    def add_writers(self, writers: WriteSupervisor) -> None:
        """Note that programs may keep files open for writing."""


class WriteSupervisor:
    """Starts the programs of one sandbox, and reports the paths that they change."""

    def __init__(self, root: Path, observer: WriteObserver) -> None:
        """Install the filter. Blocking.

        Raises:
            OSError: this system does not support it, or this process has another supervisor.
        """
        self._root = f"{root}/"
        self._observer = observer
        self._calls: dict[int, str] = {get_call_number(name): name for name in _OPERANDS}
        self._children: list[Child] = []
        self._newest: dict[int, tuple[int, float, list[str]]] = {}
        """The number, time and paths of the newest call by thread."""
        self._folders: dict[str, str] = {}
        """The real paths of folders, by the names that programs use."""
        program = build_write_filter()
        if not program:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        # programs end with the thread that has started them
        self._starter = ThreadPoolExecutor(1, "sandbox")
        try:
            self._notifications = self._starter.submit(Notifications.install, program).result()
        except OSError:
            self._starter.shutdown()
            raise
        observer.add_writers(self)
        threading.Thread(target=self._run, name="write supervisor", daemon=True).start()

    async def start(self, launch: Callable[[], Child]) -> Child:
        """Launch a program that is observed.

        Raises:
            OSError: the program cannot be started.
        """
        child = await asyncio.wrap_future(self._starter.submit(launch))
        self._children.append(child)
        return child

    def find_unsettled(self) -> set[str]:
        """Return the paths that programs are changing, or may change without another report.

        Blocking. These are files in the workspace that are open for writing, and calls that the
        kernel has not executed yet.
        """
        self._children = [child for child in self._children if child.returncode is None]
        paths: set[str] = set()
        for thread, (number, reported_at, changing) in list(self._newest.items()):
            is_recent = time.monotonic() - reported_at < _LONGEST_CALL
            if is_recent and _may_be_executing(thread, number):
                paths.update(changing)
            else:
                self._newest.pop(thread, None)
        for process in _find_descendants([str(child.pid) for child in self._children]):
            paths.update(_list_written_files(process, self._root))
        return paths

    def close(self) -> None:
        """Kill the remaining programs; the supervisor stops when all have ended. Blocking."""
        self._starter.shutdown()

    def _run(self) -> None:
        """Let each call proceed, and report its paths before."""
        poll = select.poll()
        poll.register(self._notifications.listener, select.POLLIN)
        while True:
            ((_, event),) = poll.poll()
            if not event & select.POLLIN:  # the last thread with the filter has ended
                break
            call = self._notifications.receive()
            if call is None:
                continue
            try:
                self._report(call)
            except FileNotFoundError:
                pass  # the thread has been killed, or the call will fail
            except Exception:  # without an answer, the program would be blocked forever
                log.debug("a call was not understood", exc_info=True)
                self._observer.note_unknown()
            finally:
                self._notifications.proceed(call)
        self._notifications.close()

    def _report(self, call: SystemCall) -> None:
        name = self._calls[call.number]
        paths = list(self._resolve(call, name))
        for path in paths:
            self._observer.note(path)
        self._newest[call.thread] = (call.number, time.monotonic(), paths)
        if name in _CHANGING_FOLDERS:
            self._folders.clear()
        if name in _MOVING:
            self._report_contents(paths)

    def _report_contents(self, paths: list[str]) -> None:
        """Report what is in a folder that is moved, or exchanged with another one."""
        for path in paths:
            top = self._root + path
            status = _read_status(top)
            if status is not None and stat.S_ISDIR(status.st_mode):
                for parent, folders, files in os.walk(top):
                    for name in (*folders, *files):
                        inside = f"{parent[len(top) :]}/{name}"
                        for moved in paths:
                            self._observer.note(moved + inside)
            elif len(paths) == 1:  # it may be a folder from outside the workspace
                self._observer.note(f"{path}/")

    def _resolve(self, call: SystemCall, name: str) -> Iterator[str]:
        """Yield the paths in the workspace that a call may change."""
        for folder, path in _OPERANDS[name]:
            text = call.read_path(call.arguments[path]) if path is not None else ""
            at = None if folder is None else call.get_integer(folder)
            full = self._find_real_path(call, at, text)
            if not full.startswith(self._root):
                continue
            yield full[len(self._root) :]
            status = _read_status(full) if name in _FOLLOWING else None
            if status is not None and stat.S_ISLNK(status.st_mode):
                target = os.path.realpath(full)
                status = _read_status(target)
                if target.startswith(self._root):
                    yield target[len(self._root) :]
            if status is not None and status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
                self._observer.note_unknown()  # under its other names

    def _find_real_path(self, call: SystemCall, at: int | None, path: str) -> str:
        """Return the path in the sandbox, without links except for the last part."""
        process = f"/proc/{call.thread}"
        if path.startswith(("/dev/std", "/dev/fd/", "/proc/self/fd/")):
            names = {"stdin": "0", "stdout": "1", "stderr": "2"}
            number = path.rpartition("/")[2]
            return os.readlink(f"{process}/fd/{names.get(number, number)}")
        if not path:  # the call changes the file of a descriptor
            return os.readlink(f"{process}/fd/{at}")
        if not path.startswith("/"):
            is_current = at is None or at == _CURRENT_FOLDER & 0xFFFFFFFF
            path = (
                os.readlink(f"{process}/cwd" if is_current else f"{process}/fd/{at}") + "/" + path
            )
        folder, _, last = path.rstrip("/").rpartition("/")
        if last in ("", ".", ".."):
            return self._open_folder(process, path)
        real = self._folders.get(folder)
        if real is None:
            real = self._folders[folder] = self._open_folder(process, folder)
        return f"{real}/{last}"

    def _open_folder(self, process: str, folder: str) -> str:
        descriptor = os.open(f"{process}/root{folder}/", os.O_PATH | os.O_CLOEXEC)
        try:
            return os.readlink(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)


def _find_descendants(processes: list[str]) -> list[str]:
    """Return processes and their descendants, by id."""
    for process in processes:  # grows in the loop
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{process}/task"):
                processes += Path(f"/proc/{process}/task/{task}/children").read_text().split()
    return processes


def _may_be_executing(thread: int, number: int) -> bool:
    """Return whether a thread may not have finished a call."""
    with contextlib.suppress(OSError):  # it has ended
        current = Path(f"/proc/{thread}/syscall").read_text().split()[0]
        return current in ("running", str(number))
    return False


def _list_written_files(process: str, root: str) -> Iterator[str]:
    """Yield the files below a folder that a process has open for writing."""
    with contextlib.suppress(OSError), os.scandir(f"/proc/{process}/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # it has just been closed
                path = os.readlink(entry.path)
                facts = Path(f"/proc/{process}/fdinfo/{entry.name}").read_text().split()
                flags = int(facts[facts.index("flags:") + 1], 8)
                if path.startswith(root) and flags & os.O_ACCMODE != os.O_RDONLY:
                    yield path[len(root) :]


def _read_status(path: str) -> os.stat_result | None:
    """Return the status of a path without following a link; None if it does not exist."""
    try:
        return os.lstat(path)
    except OSError:
        return None
