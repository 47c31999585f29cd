"""The local sockets (`AF_UNIX`) that the programs of a sandbox use among themselves."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path

from manus.execution.sandbox import landlock

_LONGEST_PATH = 107
"""Maximum length of the address of a local socket, in bytes."""
_MAX_UNUSED = 4096
_MAX_SERVERS = 256
"""Maximum numbers of registered sockets; the oldest become unusable."""


class LocalSockets:
    """The sockets with a path (`AF_UNIX`) of the programs of a sandbox."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [Path(os.path.realpath(folder)) for folder in folders]
        # the kernel restricts the thread to the folders, even if links change (TOCTOU)
        self._binder = ThreadPoolExecutor(
            1, "socket binder", landlock.confine_thread, (self._folders,)
        )
        self._unused: dict[int, None] = {}
        """Inodes of the sockets that programs have neither bound nor connected."""
        self._servers: dict[tuple[int, int], int] = {}
        """Descriptors of servers' paths by device and inode, which prevent reuse of the inode."""

    def close(self) -> None:
        """Close the servers' descriptors. Blocks for a moment."""
        self._binder.shutdown()
        for descriptor in self._servers.values():
            os.close(descriptor)

    def make_unused(self) -> socket.socket:
        """Create a placeholder socket that can neither listen nor be connected."""
        near, far = socket.socketpair()
        far.close()
        self._unused[os.fstat(near.fileno()).st_ino] = None
        if len(self._unused) > _MAX_UNUSED:
            del self._unused[next(iter(self._unused))]
        return near

    def is_unused(self, inode: int) -> bool:
        """Return whether a socket is from `make_unused`, and has not been replaced."""
        return inode in self._unused

    def listen(self, path: Path) -> socket.socket:
        """Create a socket that listens on a path.

        Raises:
            OSError: the path is not in the run's folders, or already exists.
        """
        listener = socket.socket(socket.AF_UNIX)
        try:
            self._bind_in_folders(listener, path)
            listener.listen()
            self._remember(listener, path)
        except BaseException:
            listener.close()
            raise
        return listener

    def _bind_in_folders(self, listener: socket.socket, path: Path) -> None:
        try:
            self._binder.submit(_bind, listener, path).result()
        except BrokenExecutor:  # this process has the maximum number of Landlock rulesets
            raise PermissionError(errno.EACCES, "It cannot be confined to the folders") from None

    def _remember(self, listener: socket.socket, path: Path) -> None:
        """Register the inode of the path on which a socket listens.

        Raises:
            OSError: a program has replaced it in the meantime.
        """
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            real = Path(f"/proc/self/fd/{descriptor}").readlink()
            if not any(map(real.is_relative_to, self._folders)):
                raise PermissionError(errno.EACCES, "It is not in the run's folders")
            with socket.socket(socket.AF_UNIX) as probe:  # no other process can connect to it yet
                probe.setblocking(False)
                probe.connect(f"/proc/self/fd/{descriptor}")
                listener.setblocking(False)
                listener.accept()[0].close()
        except OSError as error:
            os.close(descriptor)
            raise PermissionError(errno.EACCES, "Its path has changed") from error
        status = os.fstat(descriptor)
        self._forget_removed()
        self._servers[status.st_dev, status.st_ino] = descriptor

    def _forget_removed(self) -> None:
        removed = [
            key for key, descriptor in self._servers.items() if not os.fstat(descriptor).st_nlink
        ]
        remaining = [key for key in self._servers if key not in removed]
        for key in (*removed, *remaining[: max(0, len(remaining) + 1 - _MAX_SERVERS)]):
            os.close(self._servers.pop(key))

    def connect(self, path: Path) -> socket.socket:
        """Connect to a server of the sandbox.

        Raises:
            BlockingIOError: its backlog is full.
            OSError: there is no server, or it is not one of the sandbox.
        """
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        status = os.fstat(descriptor)
        os.close(descriptor)
        server = self._servers.get((status.st_dev, status.st_ino))
        if server is None:
            raise PermissionError(errno.EACCES, "It is not a server of the sandbox")
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.setblocking(False)
            connection.connect(f"/proc/self/fd/{server}")
        except BaseException:
            connection.close()
            raise
        return connection


def _bind(listener: socket.socket, path: Path) -> None:
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        return listener.bind(str(path))
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
