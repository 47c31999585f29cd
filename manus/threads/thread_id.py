"""Limits and special values of thread ids."""

from __future__ import annotations

LONGEST_THREAD_ID = 200
"""Characters."""

NEWEST = ""
"""Special thread id: the most recently used thread."""

MAX_THREADS = 1_000_000
"""A limit that no store reaches."""
