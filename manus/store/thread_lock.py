"""One run at a time on a thread: two at once would fork its history."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from manus.state.errors import StorageError, ThreadBusyError

# Whoever lists the threads holds each for a moment, to see whether it can be held.
ATTEMPTS = 4
PAUSE = 0.05
"""Seconds between two attempts."""


def busy(thread_id: str, holder: str = "another process") -> ThreadBusyError:
    """The error of a second run on a thread."""
    said = f"The thread {thread_id} is being worked on by {holder}"
    return ThreadBusyError(f"{said}; wait for it to end, or stop it.")


@asynccontextmanager
async def hold_file(folder: Path, thread_id: str) -> AsyncIterator[None]:
    """Hold a thread by a locked file in a folder, which is made.

    The lock goes with the process, however it ends; the file is removed by whoever lets go.

    Raises:
        ThreadBusyError: another process, or another run of this one, holds it.
        StorageError: the folder cannot be written.
    """
    name = hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    path = folder / f"{name}.lock"
    handle = await asyncio.to_thread(_locked, path, thread_id)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _locked(path: Path, thread_id: str) -> int:
    holder = ""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for _ in range(ATTEMPTS):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(handle, 20, 0).decode("ascii", "ignore")
            else:
                if os.fstat(handle).st_nlink:  # else its last holder has just removed it
                    os.ftruncate(handle, 0)  # of one that was killed there may be more
                    os.pwrite(handle, str(os.getpid()).encode(), 0)
                    return handle
            os.close(handle)
            time.sleep(PAUSE)
    except OSError as error:
        raise StorageError(f"{path} cannot be locked ({error.strerror}).") from None
    raise busy(thread_id, f"process {holder}")
