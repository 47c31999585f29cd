"""LangSmith's traces at the end of the program: what is left is sent, for a moment at most.

LangSmith comes with LangChain and is switched on by its own variables; its client can send
OpenTelemetry spans besides, or instead. It may neither fail a run nor hold the process.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("manus")

LONGEST_WAIT = 2.0
"""Seconds that the end of the program waits, without `MANUS_TRACING_WAIT`."""

_SWITCHES = (
    "LANGSMITH_TRACING",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_TRACING",
    "LANGCHAIN_TRACING_V2",
)
_is_held = False


def uses_langsmith() -> bool:
    """Whether LangSmith is switched on, as its client reads it."""
    return any(os.environ.get(name, "") == "true" for name in _SWITCHES)


@contextmanager
def sending_traces() -> Iterator[None]:
    """What is recorded in the block is sent when it ends, as far as that can be done quickly."""
    if not uses_langsmith():
        yield
        return
    # Its threads would keep the process for minutes where the server does not answer.
    os.environ.setdefault("LANGSMITH_USE_DAEMON", "true")
    complaints = _Complaints()
    logging.getLogger("langsmith").addHandler(complaints)
    try:
        yield
    finally:
        _flush()
        logging.getLogger("langsmith").removeHandler(complaints)
        if _is_held or complaints.has_come:
            log.warning("Not all traces could be sent to LangSmith; the log says more.")


def leave_at_once(code: int) -> None:
    """End the process if a thread of LangSmith's would hold it while a server does not answer."""
    if not _is_held:
        return
    from manus.stopping import end_at_once

    sys.stderr.flush()
    logging.shutdown()
    end_at_once(code)


def _flush() -> None:
    global _is_held
    tracer = sys.modules.get("langchain_core.tracers.langchain")
    if tracer is None:
        return
    try:
        longest = max(0.0, float(os.environ.get("MANUS_TRACING_WAIT") or LONGEST_WAIT))
    except ValueError:
        longest = LONGEST_WAIT
    began = time.monotonic()
    tracer.get_client().flush(timeout=longest)
    _is_held = time.monotonic() - began >= longest


class _Complaints(logging.Handler):
    """Whether its client said that something could not be sent."""

    has_come = False

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Notice it."""
        self.has_come = self.has_come or str(record.msg).startswith("Failed to")
