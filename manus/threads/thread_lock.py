"""Lock a thread while a run works on it: concurrent runs would fork its history."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from manus.state.errors import StorageError
from manus.threads.records.base import ATTEMPTS, PAUSE, thread_busy_error


@asynccontextmanager
async def hold_file(folder: Path, thread_id: str) -> AsyncIterator[None]:
    """Hold a thread through a locked file in a folder, which is created if missing.

    The kernel releases the lock when the process ends; the file is removed on release.

    Raises:
        ThreadBusyError: another process, or another run of this one, holds it.
        StorageError: the folder cannot be written.
    """
    name = hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    path = folder / f"{name}.lock"
    handle = await asyncio.to_thread(_lock_file, path, thread_id)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _lock_file(path: Path, thread_id: str) -> int:
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
                if os.fstat(handle).st_nlink:  # otherwise its last holder has just removed it
                    os.ftruncate(handle, 0)  # a killed holder may have left a longer pid
                    os.pwrite(handle, str(os.getpid()).encode(), 0)
                    return handle
            os.close(handle)
            time.sleep(PAUSE)
    except OSError as error:
        raise StorageError(
            f"Cannot lock {path} ({error.strerror}); check the permissions of its folder."
        ) from None
    raise thread_busy_error(thread_id, f"process {holder}")
