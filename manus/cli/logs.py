"""Where the program's log goes: everything to a file, warnings of ours to stderr too.

And the end of LangSmith's traces. It comes with LangChain and is switched on by its own variables;
it may neither fail a run nor hold the process.
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

_LARGEST = 2_000_000
"""Bytes of a log file before a new one is begun; one old one is kept."""
_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
_LONGEST_SENDING = 2.0
"""Seconds that traces may take when all else is done."""
_SWITCHES = (
    *("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2"),
    *("LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"),
)


class _PrivateFile(RotatingFileHandler):
    def _open(self) -> Any:
        make_private_file(Path(self.baseFilename))  # a new one follows a full one
        return super()._open()


class _ForPeople(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"manus: {record.levelname.lower()}: {flat(record.getMessage())}"


def set_up_logging() -> None:
    """Send records to their places, once a process."""
    ours = logging.getLogger("manus")
    root = logging.getLogger()
    if ours.handlers:
        return
    ours.setLevel(logging.INFO)
    logging.raiseExceptions = False  # a full disk must not fill stderr with tracebacks
    root.addHandler(_file_handler())
    to_people = logging.StreamHandler()
    to_people.setFormatter(_ForPeople())
    to_people.setLevel(logging.WARNING)
    ours.addHandler(to_people)
    logging.captureWarnings(capture=True)


def log_file() -> Path | None:
    """The log file, or None where none can be written."""
    files = (h for h in logging.getLogger().handlers if isinstance(h, _PrivateFile))
    return next((Path(handler.baseFilename) for handler in files), None)


def _file_handler() -> logging.Handler:
    from platformdirs import user_log_path

    path = user_log_path("manus", appauthor=False) / "manus.log"
    handler: logging.Handler = logging.NullHandler()
    with suppress(OSError):
        make_private_folder(path.parent)
        handler = _PrivateFile(path, maxBytes=_LARGEST, backupCount=1, encoding="utf-8")
        handler.setFormatter(logging.Formatter(_FORMAT))
    return handler


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
            tracer.get_client().flush(timeout=_LONGEST_SENDING)
