"""The TCP servers on loopback addresses that the programs of a sandbox run themselves.

A server is theirs if the inode of its listening socket is that of a socket which one of them has
bound to the same port. Inode numbers come again after 2^32 sockets; a remembered one is dropped
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
"""After which a socket that was bound, and does not listen, is forgotten."""
_CONNECT_SECONDS = 1.0
_MAX_CONNECTIONS = 4096
"""Connections that are remembered, so that none is made in the place of another."""
_Host = ipaddress.IPv4Address | ipaddress.IPv6Address
_IPV4 = struct.Struct("!2xH4s")
_IPV6 = struct.Struct("!2xH4x16s")


class LoopbackServers:
    """Remembers what programs bind, and connects to servers of theirs alone. Blocking."""

    def __init__(self) -> None:
        self._bound: dict[int, tuple[int, float]] = {}
        """By the inode of a socket, its port (0 is not known yet) and when it was bound."""
        self._connections: dict[int, None] = {}
        """Inodes of the sockets that `connect` has returned."""
        self._lock = threading.Lock()

    def note_bind(self, inode: int, port: int) -> None:
        """Remember a socket that a program binds; 0 is a port that is not known."""
        with self._lock:
            self._forget_closed(read_listeners())
            self._bound[inode] = (port, time.monotonic())

    def connect(self, inode: int, address: tuple[_Host, int]) -> socket.socket | None:
        """Return a connection in the place of that of a program's socket.

        None if it is the kernel's business: the address is not of loopback, the server is not one
        of the programs', or the socket is connected already.

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
        """Return a connection to a server; None if it is not one of the programs'.

        Raises:
            OSError: it does not listen at this address.
        """
        if not self._are_owners(port):
            return None
        connection = socket.create_connection((host, port), timeout=_CONNECT_SECONDS)
        if not self._are_owners(port):  # another has taken the port meanwhile
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
        """Drop the sockets that do not listen, and note the ports that the kernel has chosen."""
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
