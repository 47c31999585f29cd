"""The seccomp filter of the system calls that programs in a sandbox must not make.

The filter is a classic BPF program (`man 2 seccomp`), compiled from a table of rules: each rule is
a block that either answers the call or falls through to the next one, and jumps never leave a
block. A refused call fails with EPERM, so that programs continue without it.
"""

from __future__ import annotations

import itertools
import os
import platform
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

_ALLOW = 0x7FFF0000
_EPERM = 0x00050001
_ENOSYS = 0x00050000 | 38
NOTIFY = 0x7FC00000
"""SECCOMP_RET_USER_NOTIF: a supervisor decides."""
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""Bit in the number of a call of x86_64's x32 interface, for which there are no rules."""

_NUMBERS: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "mount": (165, 40),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "adjtimex": (159, 171),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "acct": (163, 89),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "open_by_handle_at": (304, 265),
    "clone": (56, 220),
    "clone3": (435, 435),
    "prlimit64": (302, 261),
    "setpriority": (141, 140),
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "socketpair": (53, 199),
    "seccomp": (317, 277),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "open": (2, -1),
    "creat": (85, -1),
    "openat": (257, 56),
    "openat2": (437, 437),
    "truncate": (76, 45),
    "rename": (82, -1),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "unlink": (87, -1),
    "unlinkat": (263, 35),
    "rmdir": (84, -1),
    "mkdir": (83, -1),
    "mkdirat": (258, 34),
    "mknod": (133, -1),
    "mknodat": (259, 33),
    "link": (86, -1),
    "linkat": (265, 37),
    "symlink": (88, -1),
    "symlinkat": (266, 36),
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
}
"""Numbers on x86_64 and aarch64, from the kernel's `asm/unistd_64.h` and `asm-generic/unistd.h`.

-1: aarch64 has only the variant that takes the descriptor of a folder."""

_UNIX = 1
_INET = 2
_INET6 = 10
_NETLINK = 16
_STREAM = 1
_SEQUENCED_PACKETS = 5
_TYPE_BITS = 0xF
_NEW_LISTENER = 1 << 3
"""SECCOMP_FILTER_FLAG_NEW_LISTENER makes the caller the supervisor of a filter."""
_DEFAULT_PROTOCOL = 0
_TCP = 6
_FASTOPEN = 0x20000000
"""MSG_FASTOPEN connects while sending, which Landlock does not check."""
_NEW_NAMESPACES = 0x7E020000
"""Flags of clone that create a namespace."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of the low 32 bits of one argument of a call."""

    argument: int
    """Index of the argument, from 0."""
    test: Literal["one of", "none of", "any bit of"]
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Rule:
    """A system call, and its answer if all conditions are met."""

    call: str
    conditions: tuple[Condition, ...] = ()
    answer: int = _EPERM


_ALWAYS_REFUSED = (
    *(
        "kcmp",
        "pidfd_getfd",
        "pivot_root",
        "mount",
        "umount2",
        "unshare",
        "setns",
        "open_tree",
        "move_mount",
    ),
    *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at"),
    *("add_key", "request_key", "keyctl", "init_module", "delete_module", "finit_module"),
    *("kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff"),
    *("perf_event_open", "bpf", "userfaultfd"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("adjtimex", "settimeofday", "clock_settime", "clock_adjtime"),
    *("acct", "sethostname", "setdomainname", "syslog"),
)
_MEMORY_CALLS = ("process_vm_readv", "process_vm_writev")
_IS_LOCAL = Condition(0, "one of", (_UNIX,))
_IS_INTERNET = Condition(0, "one of", (_INET, _INET6))

RULES = (
    *map(Rule, _ALWAYS_REFUSED),
    # the C library then calls clone, whose flags can be inspected
    Rule("clone3", answer=_ENOSYS),
    Rule("clone", (Condition(0, "any bit of", (_NEW_NAMESPACES,)),)),
    # the sandbox's own init, which ends all programs with the run: a tracer could stop it from that
    Rule("ptrace", (Condition(1, "one of", (1,)),)),
    *(Rule(call, (Condition(0, "one of", (1,)),)) for call in _MEMORY_CALLS),
    # limits and priority of the calling process alone
    Rule("prlimit64", (Condition(0, "none of", (0,)),)),
    Rule("setpriority", (Condition(0, "none of", (0,)),)),
    Rule("setpriority", (Condition(1, "none of", (0,)),)),
    # AF_VSOCK reaches the host of a virtual machine, others reach rarely used kernel code
    Rule("socket", (Condition(0, "none of", (_UNIX, _INET, _INET6, _NETLINK)),)),
)
"""Rules of every sandbox."""

SHARED_RULES = (
    # other processes of the user
    *map(Rule, ("ptrace", *_MEMORY_CALLS)),
    # System V IPC
    *map(Rule, ("shmget", "shmat", "msgget", "semget")),
)
"""Rules of a sandbox that shares the machine's processes and System V IPC."""

SHARED_NETWORK_RULES = (
    # daemons of the host listen on AF_UNIX
    Rule("socket", (_IS_LOCAL,)),
    # a datagram socket of a pair can still send to the path of a host's daemon
    Rule("socketpair", (Condition(0, "none of", (_UNIX,)),)),
    Rule("socketpair", (Condition(1, "none of", (_STREAM, _SEQUENCED_PACKETS), _TYPE_BITS),)),
    # a program's own supervisor must not answer for others
    Rule("seccomp", (Condition(1, "any bit of", (_NEW_LISTENER,)),)),
    Rule("socket", (_IS_INTERNET, Condition(1, "none of", (_STREAM,), _TYPE_BITS))),
    # not MPTCP (262) and SCTP (132), which Landlock does not check
    Rule("socket", (_IS_INTERNET, Condition(2, "none of", (_DEFAULT_PROTOCOL, _TCP)))),
    Rule("sendto", (Condition(3, "any bit of", (_FASTOPEN,)),)),
    Rule("sendmsg", (Condition(2, "any bit of", (_FASTOPEN,)),)),
    Rule("sendmmsg", (Condition(3, "any bit of", (_FASTOPEN,)),)),
)
"""Rules of a sandbox that shares the machine's network and restricts it with Landlock."""

_CHANGES_FILES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
"""Flags with which opening a file may change it."""
_PATH_CALLS = (
    *("creat", "openat2", "truncate", "rename", "renameat", "renameat2", "unlink", "unlinkat"),
    *("rmdir", "mkdir", "mkdirat", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat"),
    *("chmod", "fchmod", "fchmodat", "fchmodat2"),
)
WRITE_RULES = (
    Rule("open", (Condition(1, "any bit of", (_CHANGES_FILES,)),), NOTIFY),
    Rule("openat", (Condition(2, "any bit of", (_CHANGES_FILES,)),), NOTIFY),
    *(Rule(call, answer=NOTIFY) for call in _PATH_CALLS),
)
"""Rules that report each call which may change files (`manus.sandbox.supervisor`).

All other calls that change a file need a descriptor that was opened for writing. Owners, times and
extended attributes are not recorded in snapshots.
"""


def build_write_filter() -> bytes:
    """Build the filter with `WRITE_RULES`; empty on an unsupported architecture."""
    machine = platform.machine()
    return compile_rules(WRITE_RULES, machine) if machine in _ARCHITECTURES else b""


def build_filter(*more: Rule) -> bytes:
    """Build the filter for this machine with more rules; empty on an unsupported architecture."""
    machine = platform.machine()
    return compile_rules((*RULES, *more), machine) if machine in _ARCHITECTURES else b""


def get_call_number(call: str) -> int:
    """Return the number of a call on this machine; -1 if it has none."""
    return _find_number(call, platform.machine())


def _find_number(call: str, machine: str) -> int:
    return _NUMBERS[call][0 if machine == "x86_64" else 1]


_LOAD = 0x20
_AND = 0x54
_RETURN = 0x06
_IF_EQUAL = 0x15
_IF_ANY_BIT = 0x45
_JUMP = 0x05
_NUMBER_OFFSET = 0
_ARCHITECTURE_OFFSET = 4
_ARGUMENTS_OFFSET = 16
"""Offsets in `struct seccomp_data`; an argument has eight bytes in little-endian order."""

_NEXT = "next condition"
_PAST = "past the block"


@dataclass(frozen=True, slots=True)
class _Instruction:
    operation: int
    operand: int
    then: str = ""
    otherwise: str = ""
    """Jump labels; empty means the next instruction."""


_Block = list[_Instruction | str]
"""Instructions, and jump labels between them."""


def compile_rules(rules: tuple[Rule, ...], machine: str) -> bytes:
    """Translate rules into a BPF program for a machine, `x86_64` or `aarch64`."""
    blocks = [_build_architecture_block(machine)]
    for rule in rules:
        if _find_number(rule.call, machine) >= 0:
            blocks.append(_build_rule_block(rule, machine))
    blocks.append([_Instruction(_RETURN, _ALLOW)])
    return b"".join(itertools.chain.from_iterable(map(_assemble, blocks)))


def _build_architecture_block(machine: str) -> _Block:
    block: _Block = [
        _Instruction(_LOAD, _ARCHITECTURE_OFFSET),
        _Instruction(_IF_EQUAL, _ARCHITECTURES[machine], then="known"),
        _Instruction(_RETURN, _EPERM),
        "known",
    ]
    if machine == "x86_64":
        block += [
            _Instruction(_LOAD, _NUMBER_OFFSET),
            _Instruction(_IF_ANY_BIT, _X32, otherwise=_PAST),
            _Instruction(_RETURN, _EPERM),
        ]
    return [*block, _PAST]


def _build_rule_block(rule: Rule, machine: str) -> _Block:
    number = _find_number(rule.call, machine)
    block: _Block = [
        _Instruction(_LOAD, _NUMBER_OFFSET),
        _Instruction(_IF_EQUAL, number, otherwise=_PAST),
    ]
    for index, condition in enumerate(rule.conditions):
        label = f"{_NEXT} {index}"
        block += [*_CONDITION_BLOCKS[condition.test](condition, label), label]
    return [*block, _Instruction(_RETURN, rule.answer), _PAST]


def _load_argument(condition: Condition) -> _Block:
    return [
        _Instruction(_LOAD, _ARGUMENTS_OFFSET + 8 * condition.argument),
        _Instruction(_AND, condition.mask),
    ]


def _test_one_of(condition: Condition, label: str) -> _Block:
    tests = [_Instruction(_IF_EQUAL, value, then=label) for value in condition.values]
    return [*_load_argument(condition), *tests, _Instruction(_JUMP, 0, then=_PAST)]


def _test_none_of(condition: Condition, _: str) -> _Block:
    tests = [_Instruction(_IF_EQUAL, value, then=_PAST) for value in condition.values]
    return [*_load_argument(condition), *tests]


def _test_any_bit_of(condition: Condition, label: str) -> _Block:
    tests = [_Instruction(_IF_ANY_BIT, bits, then=label) for bits in condition.values]
    return [*_load_argument(condition), *tests, _Instruction(_JUMP, 0, then=_PAST)]


_CONDITION_BLOCKS: dict[str, Callable[[Condition, str], _Block]] = {
    "one of": _test_one_of,
    "none of": _test_none_of,
    "any bit of": _test_any_bit_of,
}


def _assemble(block: _Block) -> Iterator[bytes]:
    """Resolve the labels of a block to jump offsets, and yield its instructions."""
    labels: dict[str, int] = {}
    instructions: list[_Instruction] = []
    for item in block:
        if isinstance(item, str):
            labels[item] = len(instructions)
        else:
            instructions.append(item)
    for position, instruction in enumerate(instructions, 1):
        then = labels[instruction.then] - position if instruction.then else 0
        otherwise = labels[instruction.otherwise] - position if instruction.otherwise else 0
        if instruction.operation == _JUMP:
            yield struct.pack("=HBBI", _JUMP, 0, 0, then)
        else:
            operands = (instruction.operation, then, otherwise, instruction.operand)
            yield struct.pack("=HBBI", *operands)
