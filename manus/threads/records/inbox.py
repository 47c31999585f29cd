"""Inboxes of threads: messages that a person sends while a run is working.

An inbox is not covered by the thread's lock, so any process can add a message at once. A graph
takes a message before it calls its model, and removes it when a checkpoint contains it. So a
message that a killed process had taken is taken again, and one in the history is not added twice.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from manus.state.errors import UsageError
from manus.state.text import sanitize

T = TypeVar("T")
Execute = Callable[[str, Sequence[Any]], list[Any]]
Run = Callable[[Callable[[], Any]], Awaitable[Any]]

MessageKind = Literal["steer", "queue"]
"""`steer`: read at the next step of the run. `queue`: the next request when the run has ended."""
EMPTY = "The message is empty; write what the agent should know."
_TIMEOUT = 5.0
"""Seconds to wait for another process to release its lock."""
CREATE_INBOX = """
    CREATE TABLE IF NOT EXISTS inbox (
        thread_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        fields TEXT NOT NULL,
        sent_at TEXT NOT NULL,
        reader TEXT,
        PRIMARY KEY (thread_id, position)
    ) WITHOUT ROWID
"""
_ADD = """
    INSERT INTO inbox
    SELECT ?1, coalesce(max(position), 0) + 1, ?2, ?3, ?4, ?5, ?6, NULL
    FROM inbox WHERE thread_id = ?1
"""
_COLUMNS = "kind, text, fields, id, sent_at, reader"


def _new_id() -> str:
    return secrets.token_hex(6)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """A message in an inbox."""

    kind: MessageKind
    text: str
    fields: dict[str, Any] = field(default_factory=dict)
    """`additional_kwargs` of the message in the history, such as the user's own words."""
    id: str = field(default_factory=_new_id)
    """The id, also of the message in the history."""
    sent_at: str = field(default_factory=_now)
    """ISO 8601."""
    reader: str | None = None
    """Checkpoint namespace of the graph that has taken the message; None if it is unread."""

    def as_json(self) -> dict[str, str]:
        """Return the fields that lists of pending messages show."""
        return {"id": self.id, "kind": self.kind, "text": self.text, "sent_at": self.sent_at}


def new_message(
    text: str, *, queue: bool = False, fields: dict[str, Any] | None = None
) -> InboxMessage:
    """Build a message that steers the run, or that is queued until the run ends.

    Raises:
        UsageError: the text is empty.
    """
    if not text.strip():
        raise UsageError(EMPTY)
    return InboxMessage("queue" if queue else "steer", sanitize(text.strip()), fields or {})


class Inbox:
    """The inboxes of the threads of one store, in a table. All methods but `run` are blocking."""

    def __init__(self, table: str, mark: str, add: str, execute: Execute, run: Run) -> None:
        """Create the inboxes in a table.

        Args:
            table: its name.
            mark: the placeholder of a parameter.
            add: the statement that stores a message.
            execute: executes a statement, and returns its rows.
            run: awaits a blocking operation in a thread.
        """
        self.known_empty: set[str] = set()
        """Threads that had no messages at their newest checkpoint and were not read since."""
        self._run = run
        self._execute = execute
        of_thread = f"{table} WHERE thread_id = {mark}"
        self._add = add
        self._list = f"SELECT {_COLUMNS} FROM {of_thread} ORDER BY position"
        self._take = (
            f"UPDATE {table} SET reader = {mark} WHERE thread_id = {mark} AND id = {mark} "
            f"AND (reader = {mark} OR reader IS NULL AND CAST({mark} AS TEXT) IS NULL) RETURNING id"
        )
        self._remove = f"DELETE FROM {of_thread} AND id = {mark}"
        self._withdraw = f"{self._remove} AND reader IS NULL RETURNING id"
        self._delete_thread = f"DELETE FROM {of_thread}"

    def add(self, thread_id: str, message: InboxMessage) -> None:
        """Store a message."""
        fields = json.dumps(message.fields)
        values = (thread_id, message.id, message.kind, message.text, fields, message.sent_at)
        self._execute(self._add, values)
        self.known_empty.discard(thread_id)

    def read(self, thread_id: str) -> list[InboxMessage]:
        """Return the messages of a thread, including those taken, in the order of sending."""
        self.known_empty.discard(thread_id)
        messages = []
        for kind, text, fields, *others in self._execute(self._list, (thread_id,)):
            values = json.loads(fields) if isinstance(fields, str) else fields
            messages.append(InboxMessage(kind, text, values, *others))
        return messages

    def look(self, thread_id: str) -> None:
        """Note whether a thread is known to be empty.

        The store calls this with each checkpoint, in its own thread. So a step of a run without
        messages costs no switch of threads.
        """
        if not self.read(thread_id):
            self.known_empty.add(thread_id)

    def take(self, thread_id: str, message: InboxMessage, reader: str | None) -> bool:
        """Set the reader of a message; return False if it has been withdrawn or taken."""
        before = message.reader
        return bool(self._execute(self._take, (reader, thread_id, message.id, before, before)))

    def remove(self, thread_id: str, ids: Collection[str]) -> None:
        """Remove messages that a checkpoint contains."""
        for message_id in ids:
            self._execute(self._remove, (thread_id, message_id))

    def withdraw(self, thread_id: str, message_id: str) -> bool:
        """Remove a message; return False if it was read, or does not exist."""
        return bool(self._execute(self._withdraw, (thread_id, message_id)))

    def delete_thread(self, thread_id: str) -> None:
        """Remove all messages of a thread."""
        self._execute(self._delete_thread, (thread_id,))

    async def run(self, operation: Callable[[], T]) -> T:
        """Await a blocking operation in a thread."""
        result: T = await self._run(operation)
        return result


class SqliteInbox(Inbox):
    """The inboxes in an existing SQLite file, on their own connection; in memory without a file.

    With the file's write-ahead log, a reader never waits for the writer of checkpoints.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._mutex = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        super().__init__("inbox", "?", _ADD, self._execute_statement, asyncio.to_thread)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._mutex:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _execute_statement(self, statement: str, values: Sequence[Any]) -> list[Any]:
        with self._mutex:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection.execute(statement, values).fetchall()

    def _connect(self) -> sqlite3.Connection:
        location = ":memory:"
        if self._path is not None:  # does not recreate a removed file
            location = f"{self._path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(
            location, timeout=_TIMEOUT, uri=True, isolation_level=None, check_same_thread=False
        )
        if self._path is None:
            connection.execute(CREATE_INBOX)
            weakref.finalize(self, connection.close)
        return connection


def list_unread(messages: Collection[InboxMessage]) -> list[InboxMessage]:
    """Return the messages that can still be withdrawn."""
    return [message for message in messages if message.reader is None]
