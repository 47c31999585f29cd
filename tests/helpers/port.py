"""A port for a server that must be told one."""

import contextlib
import random
import socket


def free_port() -> int:
    """A port of this machine that nobody uses now, unlike what another test asks for meanwhile.

    It is below those that the kernel gives to whoever asks for any: none of these can take it.
    """
    while True:
        port = random.SystemRandom().randrange(12_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
