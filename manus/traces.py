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

_SWITCHES = (
    *("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2"),
    *("LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"),
)


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
    try:
        yield
    finally:
        if (tracer := sys.modules.get("langchain_core.tracers.langchain")) is not None:
            longest, began = float(os.environ.get("MANUS_TRACING_WAIT") or 2), time.monotonic()
            tracer.get_client().flush(timeout=longest)
            if time.monotonic() - began >= longest:
                log.warning("Not all traces could be sent to LangSmith; the log says more.")
