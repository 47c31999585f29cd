"""Landlock and seccomp: a sandbox without packages or namespaces, for use inside a container.

It restricts files, processes and most of the network for the programs of a run. Unlike bubblewrap,
it exposes the machine's process list, and the proxy's port on its loopback addresses. Programs have
no local sockets, and reach their own servers on loopback only through the proxy.

This file is executed as a script, without the package, before a program. It forks: the child
confines itself and executes the program; the parent supervises it and terminates what the program
has started, also when the process of the run is killed. Each import costs every program
milliseconds. See `man 7 landlock` for the numbers.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Iterable
    from pathlib import Path
else:
    import _signal  # importing `signal`, which wraps it, takes long

_CREATE = 444
_ADD = 445
_RESTRICT = 446
_PATH = 1
_PORT = 2
_CONNECT = 2
_SIGNALS_AND_ABSTRACT_SOCKETS = 3
_READ = 0b1101
_OF_FILES = 0b1100000000000111
_HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NO_NEW_PRIVILEGES = 38
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER = 1
_DROP_FROM_BOUND = 24
_CAPSET = {"x86_64": 126, "aarch64": 91}

_READABLE = ("/proc", "/sys/devices", "/etc/hosts", "/etc/passwd", "/etc/group")
_WRITABLE = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    # not /dev/pts, which contains the user's other terminals; a terminal that a program opens
    # through /dev/ptmx is accessible through its descriptor
    *("/dev/tty", "/dev/ptmx", "/dev/shm"),
)

SUPERVISOR = "manus-sandbox"
"""Name of the process that supervises a program."""
_SET_NAME = 15
_SET_SUBREAPER = 36
_SET_PARENT_DEATH_SIGNAL = 1
_SET_DUMPABLE = 4
_GRACE_SECONDS = 0.5
"""Seconds between SIGTERM and SIGKILL for processes that a program leaves behind."""
_KILL_SECONDS = 10.0
"""Seconds until killing is given up; only a process stuck in the kernel survives that long."""
_AWAITED = (_signal.SIGCHLD, _signal.SIGTERM)
_IGNORED_BY_PYTHON = (_signal.SIGPIPE, _signal.SIGXFSZ)

libc = ctypes.CDLL(None, use_errno=True)


def find_version() -> int:
    """Return the Landlock ABI version of the kernel; 0 if it has none."""
    return max(0, int(libc.syscall(_CREATE, None, 0, 1)))


def build_command(
    python: str,
    workspace: Path,
    home: Path,
    *,
    read: Iterable[Path],
    network: bool,
    port: int | None,
    rules: bytes,
) -> list[str]:
    """Return the command line before a command; `python` executes this file outside the sandbox.

    `workspace` and `home`, for `$HOME` and `$TMPDIR`, are writable; `read` (system files included)
    is only readable. With `network`, the network is closed except for `port`, the run's proxy.
    `rules` is the seccomp filter.
    """
    readable = [*_READABLE, *map(str, read)]
    writable = [*_WRITABLE, str(workspace), str(home)]
    paths = [str(len(readable)), *readable, str(len(writable)), *writable]
    network_access = str(port or "none") if network else "all"
    words = [str(os.getpid()), network_access, rules.hex(), *paths]
    return [python, "-I", "-S", __file__, *words]


def main() -> None:
    """Execute the program in the arguments, confined according to them, and supervise it."""
    _, run_process, network_access, rules, *rest = sys.argv
    readable, rest = _split_paths(rest)
    writable, program = _split_paths(rest)
    abi = find_version()
    if not abi:
        sys.exit("The kernel does not support Landlock.")
    _start_supervisor(int(run_process))
    handled = _HANDLED.get(abi, (1 << 16) - 1)
    ruleset = _create_ruleset(abi, handled, network=network_access != "all")
    for paths, allowed in ((readable, _READ), (writable, handled)):
        for path in paths:
            _allow_path(ruleset, path, allowed & handled)
    if abi >= 4 and network_access.isdecimal():
        _check(
            libc.syscall(_ADD, ruleset, _PORT, struct.pack("=QQ", _CONNECT, int(network_access)), 0)
        )
    _drop_capabilities()
    _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    _install_filter(bytes.fromhex(rules))
    for number in _IGNORED_BY_PYTHON:  # otherwise inherited: `yes | head` would print an error
        _signal.signal(number, _signal.SIG_DFL)
    os.execvp(program[0], program)


def _start_supervisor(run_process: int) -> None:
    """Fork; return in the child, which is killed with its parent.

    The parent stays outside the sandbox, which cannot signal it (from Landlock ABI 6 on). It exits
    like the child, or terminates everything if the process of the run has ended.
    """
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, _AWAITED)
    supervisor = os.getpid()
    _check(libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0))
    # of the thread that has started this process, which runs as long as the run
    _check(libc.prctl(_SET_PARENT_DEATH_SIGNAL, _signal.SIGTERM, 0, 0, 0))
    if os.getppid() != run_process:
        os._exit(1)
    program = os.fork()
    if not program:
        os.setsid()  # so that `kill 0` reaches only the program
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        _check(libc.prctl(_SET_PARENT_DEATH_SIGNAL, _signal.SIGKILL, 0, 0, 0))
        if os.getppid() != supervisor:
            os._exit(1)
        return
    libc.prctl(_SET_NAME, SUPERVISOR.encode(), 0, 0, 0)
    os.chdir("/")
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    _drop_capabilities()
    status = _wait_for(program)
    _end_children()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)  # no second core dump
        if number != _signal.SIGKILL:  # its action cannot be set
            _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        os.kill(supervisor, number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _wait_for(program: int) -> int:
    """Return the wait status of the program, or that of SIGKILL if the run has ended first."""
    while True:
        if _signal.sigwait(_AWAITED) == _signal.SIGTERM:
            return int(_signal.SIGKILL)
        for pid, status in _reap():
            if pid == program:
                return status


def _reap() -> list[tuple[int, int]]:
    """Return the children that have exited, including orphans, with their wait status."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended.append((pid, status))


def _end_children() -> None:
    """Send SIGTERM to all descendants, so that they can clean up, and then SIGKILL."""
    _signal_descendants(_signal.SIGTERM)
    grace_end = time.monotonic() + _GRACE_SECONDS
    kill_end = grace_end + _KILL_SECONDS
    while _find_descendants() and time.monotonic() < kill_end:
        _reap()
        if time.monotonic() >= grace_end:
            # stop them before killing: a process that forks quickly could escape
            _signal_descendants(_signal.SIGSTOP)
            _signal_descendants(_signal.SIGKILL)
        time.sleep(0.01)


def _signal_descendants(number: int) -> None:
    for pid in _find_descendants():
        try:
            os.kill(pid, number)
        except OSError:
            continue  # it has just ended


def _find_descendants() -> list[int]:
    """Return the descendants of this process, zombies included."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - importing `pathlib` takes long
        if name.isdecimal():
            children.setdefault(_find_parent(name), []).append(int(name))
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        offspring = children.get(pending.pop(), [])
        found += offspring
        pending += offspring
    return found


def _find_parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0  # it has just ended


def _split_paths(words: list[str]) -> tuple[list[str], list[str]]:
    """Split arguments into a list, whose length is the first argument, and the rest."""
    end = int(words[0]) + 1
    return words[1:end], words[end:]


def _check(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def _create_ruleset(abi: int, handled: int, *, network: bool) -> int:
    parts = [handled]
    if abi >= 4:
        parts.append(_CONNECT if network else 0)
    if abi >= 6:
        parts.append(_SIGNALS_AND_ABSTRACT_SOCKETS)
    attributes = struct.pack(f"={len(parts)}Q", *parts)
    return _check(libc.syscall(_CREATE, attributes, len(attributes), 0))


def _allow_path(ruleset: int, path: str, allowed: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # it does not exist on this machine
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        allowed &= _OF_FILES
    _check(libc.syscall(_ADD, ruleset, _PATH, struct.pack("=Qi", allowed, descriptor), 0))
    os.close(descriptor)


def _drop_capabilities() -> None:
    """Drop the capabilities of root, which would bypass Landlock."""
    for number in range(64):
        libc.prctl(_DROP_FROM_BOUND, number, 0, 0, 0)
    libc.syscall(_CAPSET[os.uname().machine], struct.pack("=Ii", 0x20080522, 0), bytes(24))


def _install_filter(program: bytes) -> None:
    """Install a filter for system calls; an empty one means that there is none."""
    if not program:
        return
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    number = _SECCOMP[os.uname().machine]
    _check(int(libc.syscall(number, _SET_FILTER, 0, header)))


if __name__ == "__main__":
    main()
