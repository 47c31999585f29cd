"""Connect to servers on loopback that belong to programs of the fallback sandbox. Blocking."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable

import psutil

from manus.sandbox.freeze import find_tree

_SECONDS = 1.0


def connect_to_program(roots: Iterable[int], port: int) -> socket.socket | None:
    """Connect to a port on which only programs below the processes `roots` listen.

    Return None if there is none, or if another process has taken the port in the meantime.
    """
    roots = list(roots)
    for host in ("127.0.0.1", "::1"):
        if not _is_served_by(roots, port):
            return None
        with contextlib.suppress(OSError):
            connection = socket.create_connection((host, port), timeout=_SECONDS)
            if _is_served_by(roots, port):
                connection.setblocking(False)
                return connection
            connection.close()
    return None


def _is_served_by(roots: Iterable[int], port: int) -> bool:
    listening = {
        each.pid
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and getattr(each.laddr, "port", None) == port
    }
    return bool(listening) and listening <= find_tree(roots)
