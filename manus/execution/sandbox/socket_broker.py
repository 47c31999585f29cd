"""Create the sockets of programs under Landlock, which does not check their destination.

Landlock checks neither the paths of local sockets (`AF_UNIX`), where the machine's daemons listen,
nor anything but the ports of TCP. So the seccomp filter delegates `socket(AF_UNIX)`, `bind` and
`connect` to this broker, a thread in the process of the run. Its decisions do not depend on memory
that a program could change between check and use (TOCTOU):

- A program never has a local socket that could listen or be connected. `socket` returns one end of
  a pair whose other end is closed; the kernel refuses to connect it or to listen on it.
- On `bind` and `connect`, the broker creates another socket and replaces that end with it: a socket
  that listens in the run's folders, or is connected to a server of the same sandbox.
- All other calls may proceed, regardless of what the arguments then point to: a local socket leads
  nowhere, and Landlock restricts other addresses.

The replacement is a new socket: the options of the program's socket, and copies of its descriptor,
are lost.
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
"""Maximum size of an address in bytes, as in the kernel."""


class SocketBroker:
    """A thread that answers the calls of one sandbox's programs until it is closed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Create the broker; `folders` are those in which programs may create sockets."""
        self.name = f"manus-{secrets.token_hex(16)}"
        """The abstract address to which a program sends the listener of its filter."""
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
        """Connect to a server of the sandbox; return None if none has that port."""
        return await asyncio.to_thread(self._connect_to, port)

    def _connect_to(self, port: int) -> socket.socket | None:
        for host in ("127.0.0.1", "::1"):
            with contextlib.suppress(OSError):
                return self._servers.connect_to(host, port)
        return None

    def close(self) -> None:
        """Stop the thread; remaining programs cannot bind or connect sockets. Blocking."""
        os.close(self._stopped)
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._serve():
                pass
        finally:  # otherwise the programs would be blocked forever
            for notifications in self._filters.values():
                notifications.close()
            self._entrance.close()
            os.close(self._stop)
            self._local.close()

    def _serve(self) -> bool:
        """Answer pending calls; return False if the broker should stop."""
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
        """Take charge of the filter of a program that is about to start."""
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

    Values that the kernel hides from this process are 0 or empty. Yama (`kernel.yama.ptrace_scope`)
    hides the memory, but not the descriptors, of a program that is not a descendant.
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
        raise PermissionError(errno.EACCES, "Abstract addresses are shared with the machine")
    return call.find_directory() / os.fsdecode(name)


def _replace(notifications: Notifications, call: SystemCall, connection: socket.socket) -> None:
    """Replace the socket of a `bind` or `connect` call, which then succeeds."""
    descriptor = call.get_integer(0)
    flags = call.read_descriptor_flags(descriptor)
    connection.setblocking(not flags & os.O_NONBLOCK)
    notifications.add_descriptor(
        call, connection.fileno(), at=descriptor, close_on_exec=bool(flags & os.O_CLOEXEC)
    )
    notifications.succeed(call)
