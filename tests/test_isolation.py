"""Tests see nothing of the machine they run on, and reach nothing beyond it."""

import os
import socket

import pytest
import pytest_socket

from manus.state.settings import Settings, load_settings


def test_no_setting_comes_from_outside() -> None:
    assert load_settings(os.environ, "no.such.file.toml") == Settings(
        retry_for=float(os.environ["MANUS_RETRY_FOR"])
    )


def test_connections_do_not_leave_this_machine() -> None:
    # a warning comes before the refusal, and warnings are errors here
    refused = (pytest_socket.SocketConnectBlockedError, UserWarning)
    with socket.socket() as connection, pytest.raises(refused, match="allowed"):
        connection.connect(("192.0.2.1", 443))
