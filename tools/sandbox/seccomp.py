"""The system calls that no program of the model's needs, as a filter for the kernel.

A classic BPF program (`man 2 seccomp`), the same for every wall. A refused call fails with EPERM,
so that programs go on without it; nothing is killed.
"""

from __future__ import annotations

import platform
import struct

_LOAD, _AND, _EQUAL, _SET, _RETURN = 0x20, 0x54, 0x15, 0x45, 0x06
_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`: the call, the architecture, its first two arguments."""
_ENDS = {"allow": 0x7FFF0000, "refuse": 0x00050001, "absent": 0x00050000 | 38}
"""What is answered: nothing, EPERM, ENOSYS."""

_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NEW_MOUNTS = (428, 429, 430, 431, 432, 433, 442)
_REFUSED = {
    "x86_64": (
        *(101, 310, 311, 312),  # ptrace, process_vm_readv and _writev, kcmp
        *(155, 165, 166, 272, 308, *_NEW_MOUNTS),  # pivot_root, mount, umount2, unshare, setns
        *(248, 249, 250),  # keys of the kernel
        *(175, 176, 313, 246, 320, 169, 167, 168),  # modules, kexec, reboot, swap
        *(298, 321, 323, 425, 426, 427),  # perf, bpf, userfaultfd, io_uring
        *(159, 164, 227, 305, 163, 170, 171, 103, 304),  # clocks, accounting, names, log, handles
    ),
    "aarch64": (
        *(117, 270, 271, 272),
        *(41, 40, 39, 97, 268, *_NEW_MOUNTS),
        *(217, 218, 219),
        *(105, 106, 273, 104, 294, 142, 224, 225),
        *(241, 280, 282, 425, 426, 427),
        *(171, 170, 112, 266, 89, 161, 162, 116, 265),
    ),
}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_SOCKET = {"x86_64": 41, "aarch64": 198}
_LIMITS = {"x86_64": 302, "aarch64": 261}
"""prlimit64."""
_PRIORITY = {"x86_64": 141, "aarch64": 140}
"""setpriority."""
_NEW_NAMESPACE = 0x7E020000
"""Flags of clone that make one."""
_X32 = 0x40000000
_INET, _INET6, _NETLINK = 2, 10, 16
_STREAM, _TYPE = 1, 0xF

Line = tuple[int, int, str, str]
"""An instruction: operation, operand, where to go if it holds, where to go otherwise."""


def program(*, only_tcp: bool = False) -> bytes:
    """The filter; empty on an architecture that has no table here.

    With `only_tcp` the sockets of other protocols are refused, for a wall that leaves the
    machine's network in place.
    """
    machine = platform.machine()
    if machine not in _ARCHES:
        return b""
    lines: list[Line] = [
        (_LOAD, _ARCH, "", ""),
        (_EQUAL, _ARCHES[machine], "", "refuse"),
        (_LOAD, _NUMBER, "", ""),
        *([(_SET, _X32, "refuse", "")] if machine == "x86_64" else []),
        *((_EQUAL, number, "refuse", "") for number in _REFUSED[machine]),
        (_EQUAL, _CLONE3, "absent", ""),  # the C library takes clone then, which can be looked at
        *([(_EQUAL, _SOCKET[machine], "socket", "")] if only_tcp else []),
        (_EQUAL, _LIMITS[machine], "own", ""),
        (_EQUAL, _PRIORITY[machine], "itself", ""),
        (_EQUAL, _CLONE[machine], "", "allow"),
        (_LOAD, _FIRST, "", ""),
        (_SET, _NEW_NAMESPACE, "refuse", "allow"),
    ]
    labels = {"own": len(lines), "itself": len(lines) + 2, "socket": len(lines) + 6}
    lines += [
        (_LOAD, _FIRST, "", ""),
        (_EQUAL, 0, "allow", "refuse"),  # the limits of the process itself, not of another
        (_LOAD, _FIRST, "", ""),
        (_EQUAL, 0, "", "refuse"),  # the priority of a process, and of no other
        (_LOAD, _SECOND, "", ""),
        (_EQUAL, 0, "allow", "refuse"),
        (_LOAD, _FIRST, "", ""),
        (_EQUAL, _NETLINK, "allow", ""),
        (_EQUAL, _INET, "type", ""),
        (_EQUAL, _INET6, "", "refuse"),  # those of AF_UNIX would reach a host's daemons
        (_LOAD, _SECOND, "", ""),
        (_AND, _TYPE, "", ""),
        (_EQUAL, _STREAM, "allow", "refuse"),
    ]
    labels["type"] = len(lines) - 3
    for name, answer in _ENDS.items():
        labels[name] = len(lines)
        lines.append((_RETURN, answer, "", ""))
    return b"".join(_packed(line, place, labels) for place, line in enumerate(lines))


def _packed(line: Line, place: int, labels: dict[str, int]) -> bytes:
    operation, operand, then, otherwise = line
    there = (labels[name] - place - 1 if name else 0 for name in (then, otherwise))
    return struct.pack("=HBBI", operation, *there, operand)
