"""The filter of system calls, run in a BPF interpreter: each rule, on both architectures."""

from __future__ import annotations

import struct

import pytest

from manus.sandbox.seccomp import (
    RULES,
    SHARED_NETWORK_RULES,
    SHARED_RULES,
    Condition,
    Rule,
    compile_rules,
)

ALLOWED, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
READ = {"x86_64": 0, "aarch64": 63}
SOCKET = {"x86_64": 41, "aarch64": 198}
CONNECT = {"x86_64": 42, "aarch64": 203}
BIND = {"x86_64": 49, "aarch64": 200}
SOCKETPAIR = {"x86_64": 53, "aarch64": 199}
SECCOMP = {"x86_64": 317, "aarch64": 277}
SENDTO = {"x86_64": 44, "aarch64": 206}
CLONE = {"x86_64": 56, "aarch64": 220}
PRLIMIT = {"x86_64": 302, "aarch64": 261}
SETPRIORITY = {"x86_64": 141, "aarch64": 140}
PTRACE = {"x86_64": 101, "aarch64": 117}
READ_MEMORY = {"x86_64": 310, "aarch64": 270}
SHMGET = {"x86_64": 29, "aarch64": 194}
UNIX, INET, INET6, NETLINK, PACKET, VSOCK = 1, 2, 10, 16, 17, 40
STREAM, DATAGRAM, RAW, PACKETS, NONBLOCK = 1, 2, 3, 5, 0o4000
FAST_OPEN = 0x20000000
MACHINES = ("x86_64", "aarch64")


def answer(program: bytes, machine: str, number: int, *arguments: int) -> int:
    """Interpret a filter as the kernel does."""
    values = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, AUDIT[machine], 0, *values)
    instructions = list(struct.iter_unpack("=HBBI", program))
    register = position = 0
    while True:
        operation, then, otherwise, operand = instructions[position]
        position += 1
        match operation:
            case 0x20:
                [register] = struct.unpack_from("=I", data, operand)
            case 0x54:
                register &= operand
            case 0x05:
                position += operand
            case 0x15:
                position += then if register == operand else otherwise
            case 0x45:
                position += then if register & operand else otherwise
            case 0x06:
                return int(operand)


EVERYWHERE = [
    (READ, (0, 0, 0), ALLOWED),
    (CLONE, (0x11,), ALLOWED),
    (CLONE, (0x10000011,), EPERM),
    (CLONE, (0x02000000,), EPERM),
    (PRLIMIT, (0, 7), ALLOWED),
    (PRLIMIT, (1, 7), EPERM),
    (SETPRIORITY, (0, 0, 19), ALLOWED),
    (SETPRIORITY, (0, 77, 19), EPERM),
    (SETPRIORITY, (2, 0, 19), EPERM),
    (SOCKET, (UNIX, STREAM, 0), ALLOWED),
    (SOCKET, (INET, DATAGRAM, 0), ALLOWED),
    (SOCKET, (NETLINK, 3, 0), ALLOWED),
    (SOCKET, (VSOCK, STREAM, 0), EPERM),
    (SOCKET, (PACKET, 3, 768), EPERM),
    (SENDTO, (3, 0, 0, FAST_OPEN), ALLOWED),
    (SHMGET, (1, 4096, 0o1600), ALLOWED),
]
SHARED = [
    (SOCKETPAIR, (UNIX, STREAM | NONBLOCK, 0), ALLOWED),
    (SOCKETPAIR, (UNIX, PACKETS, 0), ALLOWED),
    (SOCKETPAIR, (UNIX, DATAGRAM | NONBLOCK, 0), EPERM),
    (SOCKETPAIR, (UNIX, RAW, 0), EPERM),
    (SOCKETPAIR, (30, STREAM, 0), EPERM),
    (SECCOMP, (1, 0), ALLOWED),
    (SECCOMP, (1, 0x8 | 0x20), EPERM),
    (SOCKET, (INET, STREAM, 0), ALLOWED),
    (SOCKET, (INET6, STREAM | NONBLOCK, 6), ALLOWED),
    (SOCKET, (INET, STREAM, 262), EPERM),
    (SOCKET, (INET6, STREAM, 262), EPERM),
    (SOCKET, (INET, STREAM, 132), EPERM),
    (SOCKET, (INET, DATAGRAM, 0), EPERM),
    (SOCKET, (INET, 5, 0), EPERM),
    (SOCKET, (NETLINK, 3, 0), ALLOWED),
    (SENDTO, (3, 0, 0, 0x4000), ALLOWED),
    (SENDTO, (3, 0, 0, FAST_OPEN | 0x4000), EPERM),
    (SHMGET, (1, 4096, 0o1600), EPERM),
    (PTRACE, (16, 7), EPERM),
    (READ_MEMORY, (7,), EPERM),
    (SOCKET, (UNIX, STREAM, 0), EPERM),
    (SOCKET, (UNIX, DATAGRAM, 0), EPERM),
    (CONNECT, (3, 0, 16), ALLOWED),
    (BIND, (3, 0, 16), ALLOWED),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("call", "arguments", "expected"), EVERYWHERE)
def test_every_sandbox(
    machine: str, call: dict[str, int], arguments: tuple[int, ...], expected: int
) -> None:
    program = compile_rules(RULES, machine)
    assert answer(program, machine, call[machine], *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("call", "arguments", "expected"), SHARED)
def test_a_sandbox_on_the_network_of_the_machine(
    machine: str, call: dict[str, int], arguments: tuple[int, ...], expected: int
) -> None:
    program = compile_rules((*RULES, *SHARED_RULES, *SHARED_NETWORK_RULES), machine)
    assert answer(program, machine, call[machine], *arguments) == expected


UNCONDITIONAL = [rule for rule in RULES if not rule.conditions]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("rule", UNCONDITIONAL, ids=lambda rule: rule.call)
def test_a_call_that_is_refused_whatever_its_arguments(machine: str, rule: Rule) -> None:
    program = compile_rules(RULES, machine)
    alone = compile_rules((rule,), machine)
    [number] = [n for n in range(500) if answer(alone, machine, n) != ALLOWED]
    assert answer(program, machine, number, 1, 2, 3) == rule.answer


def test_another_architecture_and_the_x32_interface_are_refused() -> None:
    program = compile_rules(RULES, "x86_64")
    assert answer(program, "aarch64", READ["aarch64"]) == EPERM
    assert answer(program, "x86_64", 0x40000000 + 39) == EPERM


def test_all_conditions_of_a_rule_must_hold() -> None:
    both = Rule("socket", (Condition(0, "one of", (2, 3)), Condition(1, "any bit of", (4, 8))))
    program = compile_rules((both,), "x86_64")
    refused = {
        (family, kind)
        for family in range(5)
        for kind in range(16)
        if answer(program, "x86_64", 41, family, kind) == EPERM
    }
    assert refused == {(family, kind) for family in (2, 3) for kind in range(16) if kind & 12}
