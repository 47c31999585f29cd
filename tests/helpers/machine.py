"""Run a program as if the kernel lacked a feature, with a filter for system calls.

`python machine.py namespaces,landlock COMMAND...`: without user namespaces, as where AppArmor or a
container forbids them, or without Landlock, as in a kernel built without it. This affects all
processes that the command starts, and nothing else on the machine.
"""

import ctypes
import os
import struct
import sys

NAMESPACES, LANDLOCK = "namespaces", "landlock"

_LOAD, _EQUAL, _HAS, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _FIRST_ARGUMENT = 0, 16
"""Offsets in `struct seccomp_data`."""
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_CLONE = {"x86_64": 56, "aarch64": 220}
_UNSHARE = {"x86_64": 272, "aarch64": 97}
_CLONE3, _LANDLOCK_CREATE_RULESET = 435, 444
_NEW_USER = 0x10000000
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2

Line = tuple[int, int, int, int]
"""An instruction: operation, operand, lines to skip if true, and if false."""


def lack(*features: str) -> None:
    """Disable kernel features for this process and all its descendants, permanently."""
    lines: list[Line] = [(_LOAD, _NUMBER, 0, 0)]
    if LANDLOCK in features:
        lines += [(_EQUAL, _LANDLOCK_CREATE_RULESET, 0, 1), (_RETURN, _FAIL | _ENOSYS, 0, 0)]
    if NAMESPACES in features:
        machine = os.uname().machine
        lines += [
            (_EQUAL, _CLONE3, 0, 1),
            (_RETURN, _FAIL | _ENOSYS, 0, 0),  # its flags are in memory; clone is used instead
            (_EQUAL, _CLONE[machine], 1, 0),
            (_EQUAL, _UNSHARE[machine], 0, 3),
            (_LOAD, _FIRST_ARGUMENT, 0, 0),
            (_HAS, _NEW_USER, 0, 1),
            (_RETURN, _FAIL | _EPERM, 0, 0),
        ]
    lines.append((_RETURN, _ALLOW, 0, 0))
    code = b"".join(struct.pack("=HBBI", o, then, other, k) for o, k, then, other in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(lines), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if libc.prctl(_SECCOMP, _FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter for system calls can be set")


if __name__ == "__main__":
    lack(*sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
