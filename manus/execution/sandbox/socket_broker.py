"""Makes the sockets of the programs behind Landlock, which does not look at where they lead.

Landlock checks no path of a local socket (`AF_UNIX`), where the daemons of the machine listen, and
of TCP only ports. So the filter for system calls leaves `socket(AF_UNIX)`, `bind` and `connect` to
this broker, a thread of the process of the run. It relies on nothing that a program could change
while the broker looks:

- A program never has a local socket that could listen or be connected. What `socket` gives it is
  the end of a pair whose other end is closed; the kernel refuses to connect it, or to listen at it.
- At `bind` and `connect` the broker makes another socket, and puts it in the place of that end: one
  that listens below the run's folders, or is connected to a server of the same sandbox.
- Everything else may proceed whatever the arguments point to by then: a local socket leads nowhere,
  and to other addresses Landlock holds.

In the place of the program's socket is a new one: its options, and copies of its descriptor, are
not carried over.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import select
import socket
import struct
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from manus.execution.sandbox import seccomp
from manus.execution.sandbox.local_sockets import LocalSockets
from manus.execution.sandbox.loopback import LoopbackServers, parse_address
from manus.execution.sandbox.notifications import Notifications, SystemCall

_CREDENTIALS = struct.Struct("=iII")
_HANDSHAKE_SECONDS = 5.0
_RETRY_MILLISECONDS = 20
_LONGEST_ADDRESS = 128
"""In bytes; the kernel takes no longer one."""


class SocketBroker:
    """Answers for the programs of one sandbox from a thread of its own, until it is closed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """`folders` are those where programs may make sockets."""
        self.name = f"manus-{secrets.token_hex(16)}"
        """Abstract address at which a program hands over the listener of its filter."""
        self._servers = LoopbackServers()
        self._local = LocalSockets(folders)
        self._entrance = socket.socket(socket.AF_UNIX)
        self._entrance.bind(f"\0{self.name}")
        self._entrance.listen()
        self._stop, self._stopped = os.pipe()
        self._poll = select.poll()
        for descriptor in (self._entrance.fileno(), self._stop):
            self._poll.register(descriptor, select.POLLIN)
        self._filters: dict[int, Notifications] = {}
        self._waiting: list[tuple[Notifications, SystemCall]] = []
        """Connections to local servers whose backlog is full."""
        self._calls = {
            seccomp.get_call_number("socket"): self._create_socket,
            seccomp.get_call_number("bind"): self._bind,
            seccomp.get_call_number("connect"): self._connect,
        }
        self._thread = threading.Thread(target=self._run, name="socket broker", daemon=True)
        self._thread.start()

    async def connect(self, port: int) -> socket.socket | None:
        """Return a connection to a server of the sandbox; None if none of its has that port."""
        return await asyncio.to_thread(self._connect_to, port)

    def _connect_to(self, port: int) -> socket.socket | None:
        for host in ("127.0.0.1", "::1"):
            with contextlib.suppress(OSError):
                return self._servers.connect_to(host, port)
        return None

    def close(self) -> None:
        """End it; programs that are left cannot bind or connect sockets. Blocking."""
        os.close(self._stopped)
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._serve():
                pass
        finally:  # else the programs would wait for ever
            for notifications in self._filters.values():
                notifications.close()
            self._entrance.close()
            os.close(self._stop)
            self._local.close()

    def _serve(self) -> bool:
        """Answer what is waiting; False if it is to end."""
        events = self._poll.poll(_RETRY_MILLISECONDS if self._waiting else None)
        waiting = self._waiting
        self._waiting = []
        for notifications, call in waiting:
            self._answer(notifications, call)
        for descriptor, event in events:
            if descriptor == self._stop:
                return False
            if descriptor == self._entrance.fileno():
                self._admit()
            elif event & select.POLLIN:
                notifications = self._filters[descriptor]
                if received := notifications.receive():
                    self._answer(notifications, received)
            else:  # the last program with this filter has ended
                self._poll.unregister(descriptor)
                self._filters.pop(descriptor).close()
        return True

    def _admit(self) -> None:
        """Take over the filter of a program that is about to start."""
        with contextlib.suppress(OSError), self._entrance.accept()[0] as wire:
            wire.settimeout(_HANDSHAKE_SECONDS)
            credentials = wire.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            if _CREDENTIALS.unpack(credentials)[1] != os.geteuid():
                return
            _, descriptors, _, _ = socket.recv_fds(wire, 64, 1)
            for descriptor in descriptors:
                self._filters[descriptor] = Notifications(descriptor)
                self._poll.register(descriptor, select.POLLIN)

    def _answer(self, notifications: Notifications, call: SystemCall) -> None:
        try:
            self._calls[call.number](notifications, call)
        except BlockingIOError:
            if _is_blocking(call):
                self._waiting.append((notifications, call))
            else:
                notifications.fail(call, errno.EAGAIN)
        except OSError as error:
            notifications.fail(call, error.errno or errno.EINVAL)

    def _create_socket(self, notifications: Notifications, call: SystemCall) -> None:
        kind = call.get_integer(1)
        with self._local.make_unused() as unused:
            unused.setblocking(not kind & socket.SOCK_NONBLOCK)
            number = notifications.add_descriptor(
                call, unused.fileno(), close_on_exec=bool(kind & socket.SOCK_CLOEXEC)
            )
        notifications.succeed(call, number)

    def _bind(self, notifications: Notifications, call: SystemCall) -> None:
        inode, family, address = _read_arguments(call)
        if family == socket.AF_UNIX and self._local.is_unused(inode):
            with self._local.listen(_read_local_path(call, address)) as listener:
                _replace(notifications, call, listener)
            return None
        if inode and family in (socket.AF_INET, socket.AF_INET6):
            self._servers.note_bind(inode, parse_address(family, address)[1])
        elif inode and not address:
            self._servers.note_bind(inode, 0)
        return notifications.proceed(call)

    def _connect(self, notifications: Notifications, call: SystemCall) -> None:
        inode, family, address = _read_arguments(call)
        connection = None
        if family == socket.AF_UNIX and self._local.is_unused(inode):
            connection = self._local.connect(_read_local_path(call, address))
        elif inode and family in (socket.AF_INET, socket.AF_INET6):
            connection = self._servers.connect(inode, parse_address(family, address))
        if connection is None:
            return notifications.proceed(call)
        with connection:
            return _replace(notifications, call, connection)


def _read_arguments(call: SystemCall) -> tuple[int, int, bytes]:
    """Return the inode of a call's socket, the family of its address, and the address.

    What the kernel does not show to this process is 0 or empty. Yama (`kernel.yama.ptrace_scope`)
    hides the memory, not the descriptors, of a program that has left its parents.
    """
    inode = 0
    address = b""
    size = call.get_integer(2)
    with contextlib.suppress(OSError):
        inode = call.find_socket_inode(call.get_integer(0))
        if 2 <= size <= _LONGEST_ADDRESS:
            address = call.read_memory(call.arguments[1], size)
    return inode, int.from_bytes(address[:2], sys.byteorder), address


def _is_blocking(call: SystemCall) -> bool:
    with contextlib.suppress(OSError):
        return not call.read_descriptor_flags(call.get_integer(0)) & os.O_NONBLOCK
    return False


def _read_local_path(call: SystemCall, address: bytes) -> Path:
    """Return the absolute path in the address of a local socket.

    Raises:
        PermissionError: it is an abstract address, which is shared with the machine.
    """
    name = address[2:].split(b"\0")[0]
    if not name:
        raise PermissionError(errno.EACCES, "Abstract addresses are the machine's")
    return call.find_directory() / os.fsdecode(name)


def _replace(notifications: Notifications, call: SystemCall, connection: socket.socket) -> None:
    """Put a socket in the place of that of a `bind` or `connect`, which succeeds."""
    descriptor = call.get_integer(0)
    flags = call.read_descriptor_flags(descriptor)
    connection.setblocking(not flags & os.O_NONBLOCK)
    notifications.add_descriptor(
        call, connection.fileno(), at=descriptor, close_on_exec=bool(flags & os.O_CLOEXEC)
    )
    notifications.succeed(call)
