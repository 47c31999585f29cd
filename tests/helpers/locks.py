"""Locks between test runs, which are not waited for without end and without a word."""

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LIMIT = 240.0
"""Seconds to wait for another test run; less than the timeout of a test."""
_PAUSE = 0.2


@contextmanager
def lock_folder(folder: Path, holder: str, limit: float = _LIMIT) -> Iterator[None]:
    """Hold the lock of a folder for the length of a block.

    Raises:
        TimeoutError: `holder` held it for longer than `limit` seconds.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle, f"{folder}, which is locked by {holder}", limit)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, lock: str, limit: float) -> None:
    end = time.monotonic() + limit
    is_reported = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                raise TimeoutError(f"Waited {limit:g} s for {lock}.") from None
        if not is_reported:
            print(f"Waiting for {lock} ...", file=sys.__stderr__)
            is_reported = True
        time.sleep(_PAUSE)
