"""Detect a desktop."""

from __future__ import annotations

import os
import sys


def has_desktop() -> bool:
    """Return whether a browser would have a display."""
    return sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
