"""What keeps the programs that a model starts from reading this process."""

from __future__ import annotations

import contextlib
import sys

_PR_SET_DUMPABLE = 4


def hide_process() -> None:
    """Have the kernel keep our memory and environment, with the keys in them, from other programs.

    Without it any program of the same user can read `/proc/<pid>/environ`. Programs that we start
    are not hidden: they begin with an environment of their own. On Linux only.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # a C library without it
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
