"""A port for a server that cannot choose one itself."""

import contextlib
import random
import socket


def free_port() -> int:
    """Return an unused port of this machine that no concurrent test uses, either.

    It is below the ephemeral range of the kernel, so that no other socket can be assigned to it.
    """
    while True:
        port = random.SystemRandom().randrange(12_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
