"""System calls that a seccomp filter delegates to a supervisor (`man 2 seccomp_unotify`)."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import struct
from dataclasses import dataclass
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
_SET_FLAGS = 0x40082104
_WAKE_SYNCHRONOUSLY = 1
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")
_VECTOR = struct.Struct("@PN")
_CONTINUE = 1

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
        with contextlib.suppress(FileNotFoundError):
            fcntl.ioctl(self.listener, _SEND, _RESPONSE.pack(call.id, 0, 0, _CONTINUE))

    def close(self) -> None:
        """Close the listener; later calls fail with ENOSYS."""
        os.close(self.listener)
