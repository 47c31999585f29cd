"""System calls that a seccomp filter delegates to a supervisor (`man 2 seccomp_unotify`)."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from manus.sandbox.seccomp import get_call_number

_NO_NEW_PRIVILEGES = 38
_SET_FILTER = 1
_NEW_LISTENER = 1 << 3
_WAIT_KILLABLE = 1 << 5
_PAGE = 4096
_SHORT_PATH = 256
_RECEIVE = 0xC0502100
_SEND = 0xC0182101
_ADD_DESCRIPTOR = 0x40182103
_SET_FLAGS = 0x40082104
_WAKE_SYNCHRONOUSLY = 1
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")
_DESCRIPTOR = struct.Struct("=QIIII")
_VECTOR = struct.Struct("@PN")
_CONTINUE = 1
_AT_NUMBER = 1

_libc = ctypes.CDLL(None, use_errno=True)


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
        buffer = ctypes.create_string_buffer(size)
        here = _VECTOR.pack(ctypes.addressof(buffer), size)
        there = _VECTOR.pack(address, size)
        # takes half the time of opening `/proc/…/mem`
        count = _libc.process_vm_readv(self.thread, here, 1, there, 1, 0)
        if count < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return buffer.raw[:count]

    def read_path(self, address: int) -> str:
        """Read a path from the thread's memory; undecodable bytes are escaped.

        Raises:
            OSError: see `read_memory`.
        """
        # a path may end at the end of a page after which nothing is mapped
        path = self.read_memory(address, min(_SHORT_PATH, _PAGE - address % _PAGE))
        if b"\0" not in path:
            rest = address + len(path)
            path += self.read_memory(rest, _PAGE - rest % _PAGE)
            path += b"" if b"\0" in path else self.read_memory(address + len(path), _PAGE)
        return os.fsdecode(path.partition(b"\0")[0])

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

    @classmethod
    def install(cls, program: bytes) -> Self:
        """Install a filter for the calling thread and the processes that it will start.

        Raises:
            OSError: the kernel does not support it, or the process already has a supervisor.
        """
        code = ctypes.create_string_buffer(program, len(program))
        header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
        _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):  # the former from Linux 5.19
            listener = _libc.syscall(get_call_number("seccomp"), _SET_FILTER, flags, header)
            if listener >= 0:
                os.set_inheritable(listener, False)
                with contextlib.suppress(OSError):  # Linux before 6.6
                    fcntl.ioctl(listener, _SET_FLAGS, struct.pack("=Q", _WAKE_SYNCHRONOUSLY))
                return cls(listener)
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

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
