"""The listening TCP sockets of this machine. All functions are blocking."""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_TABLES = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_LISTENS = 10
"""TCP_LISTEN, the state of a listening socket."""

_DIAGNOSIS = 4
_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
"""NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY and the flags of a request (`man 7 sock_diag`)."""
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_PORT = struct.Struct("!H")
_INODE = struct.Struct("=I")
_PORT_OFFSET = 4
_INODE_OFFSET = 68
"""Offsets in `struct inet_diag_msg`."""
_ERROR = 2
_DONE = 3
_LARGEST_ANSWER = 1 << 16


class Listener(NamedTuple):
    """A listening socket."""

    port: int
    inode: int


def read_listeners() -> list[Listener]:
    """Return the sockets that listen on any address.

    Netlink is fast; reading the tables in `/proc` takes milliseconds, but needs no kernel module.
    """
    try:
        return list(itertools.chain.from_iterable(map(_ask_kernel, _FAMILIES)))
    except OSError:
        return list(itertools.chain.from_iterable(map(_read_table, _TABLES)))


def _ask_kernel(family: int) -> Iterator[Listener]:
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 1 << _LISTENS)
    header = _HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _DIAGNOSIS) as wire:
        wire.send(header + request)
        while True:
            answer = wire.recv(_LARGEST_ANSWER)
            start = 0
            while start < len(answer):
                length, kind, *_ = _HEADER.unpack_from(answer, start)
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    raise OSError("The kernel cannot list its sockets")
                body = start + _HEADER.size
                [port] = _PORT.unpack_from(answer, body + _PORT_OFFSET)
                [inode] = _INODE.unpack_from(answer, body + _INODE_OFFSET)
                yield Listener(port, inode)
                start += (length + 3) & ~3


def _read_table(table: Path) -> Iterator[Listener]:
    """Yield the listeners in a table of TCP sockets (`man 5 proc_pid_net`), if it exists."""
    try:
        lines = table.read_text().splitlines()[1:]
    except FileNotFoundError:  # no IPv6 here
        return
    for fields in map(str.split, lines):
        if int(fields[3], 16) == _LISTENS:
            yield Listener(int(fields[1].rpartition(":")[2], 16), int(fields[9]))
