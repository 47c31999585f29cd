"""Log everything to a file, and this project's warnings also to stderr.

Also flushes LangSmith traces at exit. LangSmith comes with LangChain and is enabled by its own
environment variables; it must neither fail a run nor delay the exit.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from manus.config.files import make_private_file, make_private_folder
from manus.prompts.formatting import flat

_MAX_LOG_SIZE = 2_000_000
"""Bytes of a log file before rotation; one old file is kept."""
_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
_FLUSH_TIMEOUT = 2.0
"""Seconds to send the remaining traces at exit."""
_LANGSMITH_VARIABLES = (
    *("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2"),
    *("LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"),
)


class _PrivateFile(RotatingFileHandler):
    def _open(self) -> Any:
        make_private_file(Path(self.baseFilename))  # after rotation a new file is created
        return super()._open()


class _StderrFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"manus: {record.levelname.lower()}: {flat(record.getMessage())}"


def set_up_logging() -> None:
    """Install the log handlers, once per process."""
    ours = logging.getLogger("manus")
    root = logging.getLogger()
    if ours.handlers:
        return
    ours.setLevel(logging.INFO)
    logging.raiseExceptions = False  # a full disk must not fill stderr with tracebacks
    root.addHandler(_file_handler())
    stderr_handler = logging.StreamHandler()
    stderr_handler.setFormatter(_StderrFormatter())
    stderr_handler.setLevel(logging.WARNING)
    ours.addHandler(stderr_handler)
    logging.captureWarnings(capture=True)


def log_file() -> Path | None:
    """Return the path of the log file; None if it cannot be written."""
    files = (h for h in logging.getLogger().handlers if isinstance(h, _PrivateFile))
    return next((Path(handler.baseFilename) for handler in files), None)


def _file_handler() -> logging.Handler:
    from platformdirs import user_log_path

    path = user_log_path("manus", appauthor=False) / "manus.log"
    handler: logging.Handler = logging.NullHandler()
    with suppress(OSError):
        make_private_folder(path.parent)
        handler = _PrivateFile(path, maxBytes=_MAX_LOG_SIZE, backupCount=1, encoding="utf-8")
        handler.setFormatter(logging.Formatter(_FORMAT))
    return handler


def uses_langsmith() -> bool:
    """Return whether LangSmith tracing is enabled."""
    return any(os.environ.get(name, "") == "true" for name in _LANGSMITH_VARIABLES)


@contextmanager
def flush_traces() -> Iterator[None]:
    """Send the traces recorded in the block when it ends, within a time limit."""
    if not uses_langsmith():
        yield
        return
    # Non-daemon threads would delay the exit by minutes if the server does not answer.
    os.environ.setdefault("LANGSMITH_USE_DAEMON", "true")
    try:
        yield
    finally:
        if (tracer := sys.modules.get("langchain_core.tracers.langchain")) is not None:
            tracer.get_client().flush(timeout=_FLUSH_TIMEOUT)
