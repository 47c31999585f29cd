"""The network of a sandbox: a namespace that is connected only to the run's proxy.

A small process (`porter.py`) holds the namespace. Programs enter it through `nsenter`; the run's
browser reaches servers in it through `connect`.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
from pathlib import Path

from manus.sandbox.host_programs import find_host_program
from manus.sandbox.interpreter import get_own_python
from manus.state.errors import ToolUnavailableError

_PORTER = Path(__file__).with_name("porter.py")
_SECONDS = 20.0


class Network:
    """A network namespace, created by `open_network`."""

    def __init__(
        self, porter: subprocess.Popen[bytes], wire: socket.socket, listener: socket.socket
    ) -> None:
        self._porter = porter
        self._wire = wire
        self._turn = asyncio.Lock()
        self.listener = listener
        """The listener in the namespace on which the run's proxy accepts connections."""

    @property
    def entry(self) -> tuple[str, ...]:
        """Return the command line that precedes a command to start it in the namespace."""
        namespaces = f"/proc/{self._porter.pid}/ns"
        nsenter = find_host_program("nsenter") or "/usr/bin/nsenter"
        return (
            nsenter,
            f"--user={namespaces}/user",
            f"--net={namespaces}/net",
            "--preserve-credentials",
        )

    async def connect(self, port: int) -> socket.socket | None:
        """Connect to a server in the namespace; return None if nothing listens on the port."""
        async with self._turn:
            return await asyncio.to_thread(self._connect, port)

    def _connect(self, port: int) -> socket.socket | None:
        self._wire.send(str(port).encode())
        _, descriptors, _, _ = socket.recv_fds(self._wire, 64, 1)
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def close(self) -> None:
        """End the namespace. Blocks for a moment."""
        self._wire.close()
        self.listener.close()
        self._porter.kill()
        self._porter.wait()


def open_network() -> Network:
    """Create a network namespace. Blocking.

    Raises:
        ToolUnavailableError: this machine does not allow one.
    """
    wire, peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    wire.settimeout(_SECONDS)
    with peer:
        porter = subprocess.Popen(
            [get_own_python(), "-I", "-S", str(_PORTER), str(peer.fileno())],
            pass_fds=(peer.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )
    try:
        message, descriptors, _, _ = socket.recv_fds(wire, 64, 1)
        if not descriptors:
            reason = message.decode().removeprefix("no ") or "it exited at once"
            raise ToolUnavailableError(f"Cannot create a network namespace here ({reason}).")
        listener = socket.socket(fileno=descriptors[0])
    except (OSError, ToolUnavailableError) as error:
        wire.close()
        porter.kill()
        porter.wait()
        raise ToolUnavailableError(str(error)) from None
    listener.setblocking(False)
    return Network(porter, wire, listener)
