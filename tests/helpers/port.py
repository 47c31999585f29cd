"""A port for a server that must be told one."""

import contextlib
import random
import socket

_OUR_RANGE = range(12_000, 30_000)
"""Below the ports that the kernel gives to whoever asks for any: none of those can take it."""


def free_port() -> int:
    """A port of this machine that nobody uses now, unlike what another test asks for meanwhile."""
    choice = random.SystemRandom()
    while True:
        port = choice.choice(_OUR_RANGE)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
