"""Pausing the garbage collector where thousands of objects are made that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """No collections in the block, and what it made is not looked through again after it.

    Imports of large packages make a few hundred thousand objects that live as long as the process.
    Going through them again and again is a third of the time to the first request.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()
