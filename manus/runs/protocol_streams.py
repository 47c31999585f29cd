"""Standard streams for a protocol that runs over stdin and stdout."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from manus.runs.signals import end_at_once


class _ToClient(io.FileIO):
    """Raw stdout for the client; exits when the client has closed its end.

    The SDK would wait until stdin is closed too, and then fail with a broken pipe.
    """

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            end_at_once(0)


@contextmanager
def own_streams() -> Iterator[None]:
    """Give a protocol's SDK duplicates of stdin and stdout, because it closes the streams it uses.

    Other output in the block goes to stderr, where it does not break the protocol.
    """
    original = (sys.stdin, sys.stdout)
    sys.stdin = os.fdopen(os.dup(0), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_ToClient(os.dup(1), "w")), encoding="utf-8")
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdin, sys.stdout = original
