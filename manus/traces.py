"""Traces at the end of the program: what is left is sent, for a moment, and nobody waits longer.

LangSmith is switched on by its own variables and comes with LangChain; OpenTelemetry by
`manus.graph.tracing`. Neither may slow a run, fail it, or hold the process when it is done.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from manus.state.tracing_settings import uses_langsmith

log = logging.getLogger("manus")

LONGEST_WAIT = 2.0
"""Seconds that the end of the program waits for each of them, without `MANUS_TRACING_WAIT`."""

_is_held = False


@contextmanager
def sending_traces() -> Iterator[None]:
    """What is recorded in the block is sent when it ends, as far as that can be done quickly."""
    langsmith = _LangSmith() if uses_langsmith(os.environ) else None
    try:
        yield
    finally:
        if langsmith is not None:
            langsmith.finish(_longest_wait())
        _finish_spans()


def leave_at_once(code: int) -> None:
    """End the process if a thread of LangSmith's would hold it while a server does not answer."""
    if not _is_held:
        return
    from manus.stopping import end_at_once

    sys.stderr.flush()
    logging.shutdown()
    end_at_once(code)


def _finish_spans() -> None:
    tracing = sys.modules.get("manus.graph.tracing")
    if tracing is not None and not tracing.finish_tracing(_longest_wait()):
        _tell("OpenTelemetry's endpoint")


def _longest_wait() -> float:
    try:
        return max(0.0, float(os.environ.get("MANUS_TRACING_WAIT") or LONGEST_WAIT))
    except ValueError:
        return LONGEST_WAIT


def _tell(whom: str) -> None:
    log.warning("Not all traces could be sent to %s; the log says more.", whom)


class _LangSmith(logging.Handler):
    """Its client, and whether it complained."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._has_failed = False
        # Its threads would keep the process for minutes where the server does not answer.
        os.environ.setdefault("LANGSMITH_USE_DAEMON", "true")
        logging.getLogger("langsmith").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Notice that something could not be sent."""
        self._has_failed = self._has_failed or str(record.msg).startswith("Failed to")

    def finish(self, seconds: float) -> None:
        """Send what is left, for so long at most; the rest is given up."""
        global _is_held
        tracer = sys.modules.get("langchain_core.tracers.langchain")
        if tracer is not None:
            began = time.monotonic()
            tracer.get_client().flush(timeout=seconds)
            _is_held = time.monotonic() - began >= seconds
        logging.getLogger("langsmith").removeHandler(self)
        if _is_held or self._has_failed:
            _tell("LangSmith")
