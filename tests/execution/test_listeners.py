"""The list of listening TCP sockets, from each of its sources."""

from __future__ import annotations

import os
import socket

import pytest

from manus.execution.sandbox import listeners

UNKNOWN_PROTOCOL = 31
HOSTS = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


@pytest.mark.parametrize("family", HOSTS)
@pytest.mark.parametrize("has_netlink", [True, False])
def test_listening_sockets(
    family: socket.AddressFamily, has_netlink: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_netlink:  # as in a kernel without the module
        monkeypatch.setattr(listeners, "_DIAGNOSIS", UNKNOWN_PROTOCOL)
    with socket.create_server((HOSTS[family], 0), family=family) as server:
        host, port, *_ = server.getsockname()
        with socket.create_connection((host, port)):
            result = listeners.read_listeners()
        assert [listener.inode for listener in result if listener.port == port] == [
            os.fstat(server.fileno()).st_ino
        ]
