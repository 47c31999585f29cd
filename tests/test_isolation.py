"""Tests see nothing of the machine they run on, and reach nothing beyond it."""

import os
import socket

import pytest
import pytest_socket

from manus.state.settings import Settings, load_settings


def test_no_setting_comes_from_outside() -> None:
    assert load_settings(os.environ, "no.such.file.toml") == Settings(retry_for=3)
    ours = [name for name in os.environ if name.startswith(("OPENAI_", "MANUS_", "LANGSMITH_"))]
    assert sorted(ours) == ["MANUS_RETRY_FOR", "MANUS_TRUST"]  # those of the tests themselves


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1"])
def test_connections_do_not_leave_this_machine(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # a warning comes before the refusal, and warnings are errors here
    refused = (pytest_socket.SocketConnectBlockedError, UserWarning)
    with socket.socket(family) as connection, pytest.raises(refused, match="allowed"):
        connection.connect((address, 443))


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with socket.create_connection(address) as connection:
            assert connection.getpeername() == address
