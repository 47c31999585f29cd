"""Landlock and seccomp: a sandbox that needs no package and no namespace, as inside a container.

It restricts files, processes and most of the network for the programs of a run. Unlike bubblewrap
it exposes the machine's process list, and the proxy's port on its loopback addresses. A broker in
the process of the run creates the programs' own local and loopback sockets.

This file is executed as a script, without the package, before a program: it confines itself and
executes the program. Each import costs every program milliseconds. See `man 7 landlock` for the
numbers.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Iterable
    from pathlib import Path

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
_MAKE_SOCKET = 1 << 9
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER = 1
_NEW_LISTENER = 1 << 3
_WAIT_KILLABLE = 1 << 5
_DROP_FROM_BOUND = 24
_CAPSET = {"x86_64": 126, "aarch64": 91}

_READABLE = ("/proc", "/sys/devices", "/etc/hosts", "/etc/passwd", "/etc/group")
_WRITABLE = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    # not /dev/pts, which contains the user's other terminals: a terminal that a program opens
    # with /dev/ptmx is accessible through its descriptor
    *("/dev/tty", "/dev/ptmx", "/dev/shm"),
)

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
    broker: str = "",
    broker_rules: bytes = b"",
) -> list[str]:
    """Return the command line before a command. `python` starts this file outside the sandbox.

    `workspace` and `home`, for `$HOME` and `$TMPDIR`, are writable; `read` (system files included)
    is only readable. With `network`, the network is closed except for `port`, the run's proxy.
    `rules` is the seccomp filter. With a `broker` at an abstract address, the filter is
    `broker_rules` if the kernel allows this process a supervisor.
    """
    readable = [*_READABLE, *map(str, read)]
    writable = [*_WRITABLE, str(workspace), str(home)]
    paths = [str(len(readable)), *readable, str(len(writable)), *writable]
    network_access = str(port or "none") if network else "all"
    filters = [rules.hex(), broker, broker_rules.hex()]
    return [python, "-I", "-S", __file__, network_access, *filters, *paths]


def main() -> None:
    """Confine this process according to its arguments, and execute the program in them."""
    _, network_access, rules, broker, broker_rules, *rest = sys.argv
    readable, rest = _split_paths(rest)
    writable, program = _split_paths(rest)
    abi = find_version()
    if not abi:
        sys.exit("The kernel does not support Landlock.")
    handled = _HANDLED.get(abi, (1 << 16) - 1)
    ruleset = _create_ruleset(abi, handled, network=network_access != "all")
    for paths, allowed in ((readable, _READ), (writable, handled)):
        for path in paths:
            _allow_path(ruleset, path, allowed & handled)
    if abi >= 4 and network_access.isdecimal():
        _check(
            libc.syscall(_ADD, ruleset, _PORT, struct.pack("=QQ", _CONNECT, int(network_access)), 0)
        )
    wire = _connect(broker)  # Landlock will refuse it
    _drop_capabilities()
    _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    if not (wire and _hand_over(wire, bytes.fromhex(broker_rules))):
        _install_filter(bytes.fromhex(rules))
    os.execvp(program[0], program)


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
        return  # not on this machine
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        allowed &= _OF_FILES
    _check(libc.syscall(_ADD, ruleset, _PATH, struct.pack("=Qi", allowed, descriptor), 0))
    os.close(descriptor)


def _drop_capabilities() -> None:
    """Drop the capabilities of root, which would bypass Landlock."""
    for number in range(64):
        libc.prctl(_DROP_FROM_BOUND, number, 0, 0, 0)
    libc.syscall(_CAPSET[os.uname().machine], struct.pack("=Ii", 0x20080522, 0), bytes(24))


def confine_thread(folders: Iterable[Path]) -> None:
    """Let the calling thread create sockets only in `folders`. This cannot be undone.

    Raises:
        OSError: the kernel has no Landlock.
    """
    ruleset = _check(libc.syscall(_CREATE, struct.pack("=Q", _MAKE_SOCKET), 8, 0))
    for folder in folders:
        _allow_path(ruleset, str(folder), _MAKE_SOCKET)
    _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _connect(broker: str) -> _socket.socket | None:
    """Connect to the broker; return None if there is none, as in another sandbox."""
    if not broker:
        return None
    import _socket  # importing `socket`, which wraps it, takes long

    wire = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        wire.connect(f"\0{broker}")
    except OSError:
        return None
    return wire


def _hand_over(wire: _socket.socket, program: bytes) -> bool:
    """Install a filter and send its listener to the broker; return False if it has none."""
    import _socket

    try:
        try:
            listener = _install_filter(program, _NEW_LISTENER | _WAIT_KILLABLE)
        except OSError:  # Linux before 5.19
            listener = _install_filter(program, _NEW_LISTENER)
    except OSError:  # the parent process already has a supervisor
        return False
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("@i", listener))
    wire.sendmsg([b"listener"], [rights])
    os.close(listener)
    wire.close()
    return True


def _install_filter(program: bytes, flags: int = 0) -> int:
    """Install a filter for system calls; return its listener if the flags ask for one."""
    if not program:
        return 0
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    number = _SECCOMP[os.uname().machine]
    return _check(int(libc.syscall(number, _SET_FILTER, flags, header)))


if __name__ == "__main__":
    main()
