"""The TCP servers that programs of a sandbox run on loopback addresses.

A server belongs to the sandbox if one of its programs has bound the listening socket, identified by
its inode, to the same port. Inode numbers repeat after 2^32 sockets, so a recorded one is dropped
when its socket neither listens nor is new.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
import threading
import time

from manus.execution.sandbox.listeners import Listener, read_listeners

_SECONDS_TO_LISTEN = 10.0
"""Seconds after which a bound socket that does not listen is dropped."""
_CONNECT_SECONDS = 1.0
_MAX_CONNECTIONS = 4096
"""Maximum number of recorded connections, so that none is replaced by another."""
_Host = ipaddress.IPv4Address | ipaddress.IPv6Address
_IPV4 = struct.Struct("!2xH4s")
_IPV6 = struct.Struct("!2xH4x16s")


class LoopbackServers:
    """The sockets that programs bind; connections are made only to their servers. Blocking."""

    def __init__(self) -> None:
        self._bound: dict[int, tuple[int, float]] = {}
        """Port (0 if not yet known) and time of binding, by the inode of the socket."""
        self._connections: dict[int, None] = {}
        """Inodes of the sockets returned by `connect`."""
        self._lock = threading.Lock()

    def note_bind(self, inode: int, port: int) -> None:
        """Record a socket that a program binds; port 0 means unknown."""
        with self._lock:
            self._forget_closed(read_listeners())
            self._bound[inode] = (port, time.monotonic())

    def connect(self, inode: int, address: tuple[_Host, int]) -> socket.socket | None:
        """Connect to a server of the sandbox, to replace a program's socket.

        Return None if the kernel should handle the call: the address is not a loopback address, the
        server does not belong to the sandbox, or the socket is already connected.

        Raises:
            OSError: nothing listens there.
        """
        host, port = address
        if not _is_loopback(host) or inode in self._connections:
            return None
        if not any(listener.port == port for listener in read_listeners()):
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Nothing listens there")
        connection = self.connect_to(str(host), port)
        if connection is not None:
            self._connections[os.fstat(connection.fileno()).st_ino] = None
            if len(self._connections) > _MAX_CONNECTIONS:
                del self._connections[next(iter(self._connections))]
        return connection

    def connect_to(self, host: str, port: int) -> socket.socket | None:
        """Connect to a server; return None if it does not belong to the sandbox.

        Raises:
            OSError: it does not listen at this address.
        """
        if not self._are_owners(port):
            return None
        connection = socket.create_connection((host, port), timeout=_CONNECT_SECONDS)
        if not self._are_owners(port):  # another process has taken the port in the meantime
            connection.close()
            return None
        return connection

    def _are_owners(self, port: int) -> bool:
        listeners = read_listeners()
        inodes = [listener.inode for listener in listeners if listener.port == port]
        with self._lock:
            self._forget_closed(listeners)
            bound = [inode in self._bound and self._bound[inode][0] == port for inode in inodes]
        return bool(bound) and all(bound)

    def _forget_closed(self, listeners: list[Listener]) -> None:
        """Drop sockets that do not listen, and record the ports that the kernel has assigned."""
        listening = {listener.inode: listener.port for listener in listeners}
        now = time.monotonic()
        remaining = {}
        for inode, (port, since) in self._bound.items():
            if inode in listening:
                remaining[inode] = (port or listening[inode], since)
            elif now - since < _SECONDS_TO_LISTEN:
                remaining[inode] = (port, since)
        self._bound = remaining


def parse_address(family: int, address: bytes) -> tuple[_Host, int]:
    """Return the host and port of a `struct sockaddr_in` or `sockaddr_in6`.

    Raises:
        OSError: it is too short.
    """
    layout = _IPV4 if family == socket.AF_INET else _IPV6
    if len(address) < layout.size:
        raise OSError(errno.EINVAL, "The address is too short")
    port, host = layout.unpack_from(address)
    return ipaddress.ip_address(host), port


def _is_loopback(host: _Host) -> bool:
    mapped = host.ipv4_mapped if isinstance(host, ipaddress.IPv6Address) else None
    host = mapped or host
    return host.is_loopback or host.is_unspecified
