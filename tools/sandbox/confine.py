"""Landlock and seccomp around one program; executed by itself, without the package.

The first argument is JSON: `read` and `write` (lists of paths), `port` (the only one that may be
connected to; null: none), `network` (false: it is left alone), `filter` (base64). The rest is the
program. See `man 7 landlock` for the numbers.
"""

import base64
import ctypes
import json
import os
import stat
import struct
import sys

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

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    plan = json.loads(sys.argv[1])
    version = libc.syscall(_CREATE, None, 0, 1)
    if version < 1:
        sys.exit("Landlock is not to be had here")
    handled = _HANDLED.get(version, (1 << 16) - 1)
    ruleset = new_ruleset(version, handled, network=plan["network"])
    for kind, allowed in (("read", _READ), ("write", handled)):
        for path in plan[kind]:
            allow_path(ruleset, path, allowed & handled)
    if plan["network"] and version >= 4 and plan["port"]:
        check(libc.syscall(_ADD, ruleset, _PORT, struct.pack("=QQ", _CONNECT, plan["port"]), 0))
    drop_capabilities()
    check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    check(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    refuse_calls(base64.b64decode(plan["filter"]))
    os.execvp(sys.argv[2], sys.argv[2:])


def check(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def new_ruleset(version: int, handled: int, *, network: bool) -> int:
    parts = [handled]
    if version >= 4:
        parts.append(_CONNECT if network else 0)
    if version >= 6:
        parts.append(_SIGNALS_AND_ABSTRACT_SOCKETS)
    attributes = struct.pack(f"={len(parts)}Q", *parts)
    return check(libc.syscall(_CREATE, attributes, len(attributes), 0))


def allow_path(ruleset: int, path: str, allowed: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not on this machine
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        allowed &= _OF_FILES
    check(libc.syscall(_ADD, ruleset, _PATH, struct.pack("=Qi", allowed, place), 0))
    os.close(place)


def drop_capabilities() -> None:
    """For root: its capabilities reach around the wall."""
    for number in range(64):
        libc.prctl(_DROP_FROM_BOUND, number, 0, 0, 0)
    libc.syscall(_CAPSET[os.uname().machine], struct.pack("=Ii", 0x20080522, 0), bytes(24))


def refuse_calls(program: bytes) -> None:
    if not program:
        return
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    check(libc.prctl(_SECCOMP, _FILTER, header, 0, 0))


main()
