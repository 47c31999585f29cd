"""Threads in a SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from manus.saver import Saver
from manus.state.errors import StorageError
from manus.thread_lock import hold_file

_WAIT = 5.0
"""Seconds that a lock of another process is waited for."""
_MAGIC = b"SQLite format 3\0"
_ELSEWHERE = "or choose another file with MANUS_CHECKPOINT."

# By the beginning of SQLite's own name for the error.
_REASONS = {
    "SQLITE_BUSY": f"is locked by another process and did not come free within {_WAIT:.0f} s; "
    f"end that process, {_ELSEWHERE}",
    "SQLITE_LOCKED": f"is locked; end whatever else uses it, {_ELSEWHERE}",
    "SQLITE_CORRUPT": f"is damaged ({{said}}); restore it from a backup, {_ELSEWHERE}",
    "SQLITE_NOTADB": f"is not a SQLite database; move it away, {_ELSEWHERE}",
    "SQLITE_FULL": "cannot grow: the disk is full; make room and resume, what was saved so far "
    "is kept.",
    "SQLITE_IOERR": "cannot be written ({said}): the disk may be full or failing; what was saved "
    "so far is kept.",
    "SQLITE_READONLY": f"cannot be written (it is read-only); change its permissions, {_ELSEWHERE}",
    "SQLITE_CANTOPEN": f"cannot be opened; check that its folder can be written to, {_ELSEWHERE}",
}


# From one thread to the next by the key, past the checkpoints that each of them has.
_RECENT = """
    WITH RECURSIVE known(id) AS (
        SELECT MIN(thread_id) FROM checkpoints
        UNION ALL
        SELECT (SELECT MIN(thread_id) FROM checkpoints WHERE thread_id > known.id)
        FROM known WHERE known.id IS NOT NULL
    )
    SELECT id FROM (
        SELECT id, (
            SELECT MAX(checkpoint_id) FROM checkpoints
            WHERE thread_id = known.id AND checkpoint_ns = ''
        ) AS newest FROM known
    )
    WHERE newest IS NOT NULL ORDER BY newest DESC LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class SqliteStore:
    """An open file; see `manus.checkpoint.Store`."""

    saver: AsyncSqliteSaver
    path: Path

    @property
    def place(self) -> str:
        """The file."""
        return str(self.path)

    async def recent(self, limit: int) -> list[str]:
        """Ids of threads, the one worked on last first."""
        async with self.saver.conn.execute(_RECENT, (limit,)) as cursor:
            return [str(row[0]) for row in await cursor.fetchall()]

    async def spaces(self, thread_id: str) -> list[str]:
        """The checkpoint namespaces of a thread."""
        of_thread = "SELECT DISTINCT checkpoint_ns FROM checkpoints WHERE thread_id = ?"
        async with self.saver.conn.execute(of_thread, (thread_id,)) as cursor:
            return [str(row[0]) for row in await cursor.fetchall()]

    @asynccontextmanager
    async def hold(self, thread_id: str) -> AsyncIterator[None]:
        """Keep other processes from working on a thread, or raise `ThreadBusyError`."""
        with hold_file(self.path.with_name(f"{self.path.name}.locks"), thread_id):
            yield


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncIterator[SqliteStore]:
    """Open a file, made for its user alone if there is none.

    Raises:
        StorageError: it cannot be opened, or a use of it inside the block went wrong.
    """
    path = await asyncio.to_thread(_prepare, path)
    with _explained(path):
        async with aiosqlite.connect(path, timeout=_WAIT) as connection:
            saver = Saver(connection)
            await saver.setup()
            # With its write-ahead log a commit survives the death of the process without waiting
            # for the disk, which is what the journal of tool calls promises too; FULL would wait.
            await connection.execute("PRAGMA synchronous=NORMAL")
            yield SqliteStore(saver, path)


def _prepare(path: Path) -> Path:
    try:
        path = path.expanduser().absolute()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (OSError, RuntimeError) as error:
        raise StorageError(
            f"{path} cannot be opened for writing ({getattr(error, 'strerror', error)}); "
            f"change its permissions, {_ELSEWHERE}"
        ) from None
    with os.fdopen(handle, "rb") as file:
        if file.read(len(_MAGIC)) not in (b"", _MAGIC):
            raise StorageError(f"{path} {_REASONS['SQLITE_NOTADB']}")
    return path


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(f"The store of threads {path} {_reason(error)}") from error


def _reason(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    for known, reason in _REASONS.items():
        if name.startswith(known):
            return reason.format(said=error)
    return f"cannot be used ({error})."
