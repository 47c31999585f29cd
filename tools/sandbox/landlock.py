"""Landlock and seccomp: a wall that needs no package and no namespace, as inside a container.

It keeps files, processes and most of the network from the programs of a run. Unlike bubblewrap it
leaves them the machine's process list and its loopback addresses at one port, that of the proxy.

Executed by itself, without the package, this file is what stands before a program: it confines
itself and becomes the program. See `man 7 landlock` for the numbers.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import stat
import struct
import sys

TYPE_CHECKING = False  # `typing` takes longer to import than the rest
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_PATH, _PORT = 1, 2
_CONNECT = 2
_SIGNALS_AND_ABSTRACT_SOCKETS = 3
_READ = 0b1101
_OF_FILES = 0b1100000000000111
_HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_DROP_FROM_BOUND = 24
_CAPSET = {"x86_64": 126, "aarch64": 91}

_READABLE = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/sys/devices"),
    *("/etc/alternatives", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/ld.so.cache"),
    *("/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/timezone", "/etc/fonts"),
    *("/etc/mime.types", "/etc/magic", "/etc/protocols", "/etc/services", "/etc/host.conf"),
    *("/etc/nsswitch.conf", "/etc/hosts", "/etc/passwd", "/etc/group", "/etc/os-release"),
    *("/etc/debian_version", "/etc/bash.bashrc", "/etc/profile", "/etc/inputrc"),
    *("/etc/gitconfig", "/etc/python3"),
)
_WRITABLE = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    *("/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"),
)

libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Which version of Landlock the kernel has; 0 if none."""
    return max(0, int(libc.syscall(_CREATE, None, 0, 1)))


def words(
    workspace: Path,
    home: Path,
    *,
    read: Iterable[Path],
    network: bool,
    port: int | None,
    rules: bytes,
) -> list[str]:
    """What stands before a command.

    Args:
        workspace: May be written.
        home: A folder of the run's own, for `$HOME` and `$TMPDIR`.
        read: Further files and folders that may be read.
        network: Whether it is closed but for `port`, that of the run's proxy.
        port: None closes it altogether.
        rules: The filter for system calls.
    """
    plan = {
        "read": [*_READABLE, *map(str, read)],
        "write": [*_WRITABLE, str(workspace), str(home)],
        "network": network,
        "port": port,
        "filter": base64.b64encode(rules).decode(),
    }
    return [sys.executable, "-I", "-S", __file__, json.dumps(plan)]


def main() -> None:
    """Confine this process as the plan in the first argument says, and become the program."""
    plan = json.loads(sys.argv[1])
    known = version()
    if not known:
        sys.exit("Landlock is not to be had here")
    handled = _HANDLED.get(known, (1 << 16) - 1)
    ruleset = _new_ruleset(known, handled, network=plan["network"])
    for kind, allowed in (("read", _READ), ("write", handled)):
        for path in plan[kind]:
            _allow_path(ruleset, path, allowed & handled)
    if plan["network"] and known >= 4 and plan["port"]:
        _check(libc.syscall(_ADD, ruleset, _PORT, struct.pack("=QQ", _CONNECT, plan["port"]), 0))
    _drop_capabilities()
    _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    _refuse_calls(base64.b64decode(plan["filter"]))
    os.execvp(sys.argv[2], sys.argv[2:])


def _check(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def _new_ruleset(known: int, handled: int, *, network: bool) -> int:
    parts = [handled]
    if known >= 4:
        parts.append(_CONNECT if network else 0)
    if known >= 6:
        parts.append(_SIGNALS_AND_ABSTRACT_SOCKETS)
    attributes = struct.pack(f"={len(parts)}Q", *parts)
    return _check(libc.syscall(_CREATE, attributes, len(attributes), 0))


def _allow_path(ruleset: int, path: str, allowed: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not on this machine
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        allowed &= _OF_FILES
    _check(libc.syscall(_ADD, ruleset, _PATH, struct.pack("=Qi", allowed, place), 0))
    os.close(place)


def _drop_capabilities() -> None:
    """For root: its capabilities reach around the wall."""
    for number in range(64):
        libc.prctl(_DROP_FROM_BOUND, number, 0, 0, 0)
    libc.syscall(_CAPSET[os.uname().machine], struct.pack("=Ii", 0x20080522, 0), bytes(24))


def _refuse_calls(program: bytes) -> None:
    if not program:
        return
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _check(libc.prctl(_SECCOMP, _FILTER, header, 0, 0))


if __name__ == "__main__":
    main()
