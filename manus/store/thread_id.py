"""How a thread is named."""

from __future__ import annotations

LONGEST_THREAD_ID = 200
"""Characters of the longest thread id."""

NEWEST = ""
"""In place of a thread's id: the thread that was worked on last."""
