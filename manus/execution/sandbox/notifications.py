"""System calls that a seccomp filter delegates to a supervisor (`man 2 seccomp_unotify`)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path

_RECEIVE = 0xC0502100
_SEND = 0xC0182101
_ADD_DESCRIPTOR = 0x40182103
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")
_DESCRIPTOR = struct.Struct("=QIIII")
_CONTINUE = 1
_AT_NUMBER = 1


@dataclass(frozen=True, slots=True)
class SystemCall:
    """A system call of a thread that is blocked until the call is answered."""

    id: int
    thread: int
    number: int
    arguments: tuple[int, ...]

    def get_integer(self, argument: int) -> int:
        """Return an argument of type `int`: the kernel uses the low four bytes."""
        return self.arguments[argument] & 0xFFFFFFFF

    def read_memory(self, address: int, size: int) -> bytes:
        """Read the thread's memory, which may change at any time.

        Raises:
            OSError: the thread has ended, or must not be inspected.
        """
        memory = os.open(f"/proc/{self.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(memory, size, address)
        finally:
            os.close(memory)

    def find_socket_inode(self, descriptor: int) -> int:
        """Return the inode of the thread's socket `descriptor`; 0 if it is not a socket.

        Raises:
            OSError: see `read_memory`.
        """
        target = str(Path(f"/proc/{self.thread}/fd/{descriptor}").readlink())
        return int(target[8:-1]) if target.startswith("socket:[") else 0

    def read_descriptor_flags(self, descriptor: int) -> int:
        """Return the flags of the thread's `descriptor`, as for `os.open`.

        Raises:
            OSError: see `read_memory`.
        """
        with Path(f"/proc/{self.thread}/fdinfo/{descriptor}").open() as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["flags"], 8)

    def find_directory(self) -> Path:
        """Return the thread's current directory.

        Raises:
            OSError: see `read_memory`.
        """
        return Path(f"/proc/{self.thread}/cwd").readlink()


class Notifications:
    """The calls that one filter reports to its listener, a file descriptor.

    Answers to threads that have ended are dropped, because the kernel identifies calls by id.
    """

    def __init__(self, listener: int) -> None:
        self.listener = listener

    def receive(self) -> SystemCall | None:
        """Return the next call; None if its thread has just ended. Blocks until there is one."""
        buffer = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, buffer)
        except FileNotFoundError:
            return None
        call_id, thread, _, number, _, _, *arguments = _NOTIFICATION.unpack(buffer)
        return SystemCall(call_id, thread, number, tuple(arguments))

    def proceed(self, call: SystemCall) -> None:
        """Let the kernel execute the call with what its arguments then point to (TOCTOU)."""
        self._send(call, flags=_CONTINUE)

    def succeed(self, call: SystemCall, value: int = 0) -> None:
        """Let the call return a value."""
        self._send(call, value=value)

    def fail(self, call: SystemCall, error: int) -> None:
        """Let the call fail with an `errno`."""
        self._send(call, error=-error)

    def add_descriptor(
        self, call: SystemCall, descriptor: int, *, at: int | None = None, close_on_exec: bool
    ) -> int:
        """Copy a descriptor to the thread; return its number there.

        Args:
            call: a call of the thread.
            descriptor: a descriptor of this process.
            at: the number of the copy, which replaces the thread's own. Default: a free number.
            close_on_exec: the thread's copy is closed when it executes a program.

        Raises:
            OSError: the thread has ended, or has too many descriptors.
        """
        flags = 0 if at is None else _AT_NUMBER
        new_flags = os.O_CLOEXEC if close_on_exec else 0
        request = _DESCRIPTOR.pack(call.id, flags, descriptor, at or 0, new_flags)
        return int(fcntl.ioctl(self.listener, _ADD_DESCRIPTOR, bytearray(request)))

    def close(self) -> None:
        """Close the listener; later calls fail with ENOSYS."""
        os.close(self.listener)

    def _send(self, call: SystemCall, value: int = 0, error: int = 0, flags: int = 0) -> None:
        with contextlib.suppress(FileNotFoundError):
            fcntl.ioctl(self.listener, _SEND, _RESPONSE.pack(call.id, value, error, flags))
