"""The searchable archive of messages removed by compaction: SQLite with its full-text index."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from manus.state.text import sanitize
from manus.threads.records.files import record_name
from manus.workspace.safe_open import open_record

_SCHEMA = """
CREATE TABLE IF NOT EXISTS archived (
    number INTEGER NOT NULL, id TEXT NOT NULL, who TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (number, id)
);
CREATE VIRTUAL TABLE IF NOT EXISTS archived_words USING fts5 (
    text, content = 'archived', tokenize = 'porter unicode61 remove_diacritics 2'
);
"""
_ALL = "SELECT number, id, who, text FROM archived WHERE rowid > ? ORDER BY rowid"
_BY_NUMBER = "SELECT number, id, who, text FROM archived WHERE number = ?"
_BY_ROW = "SELECT number, id, who, text FROM archived WHERE rowid = ?"
_WORDS = (
    "SELECT rowid FROM archived_words WHERE archived_words MATCH ?"
    " ORDER BY bm25(archived_words) LIMIT 50"
)
_CONTAINING = "SELECT rowid FROM archived WHERE instr(text, ?) LIMIT 50"
_BUSY_TIMEOUT = 5.0
"""Seconds to wait for another process that writes to the archive."""
_MAX_QUERY = 2_000
"""Maximum number of characters of a query; the rest is ignored."""
_TERMS = 20
FROM = " from "
# Scripts without spaces between words: Thai, Lao, Khmer, kana, Han, Hangul with its particles.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)


class Archived(NamedTuple):
    """One archived message.

    `who` is the user, the agent, or the tool's name, followed by `FROM` and the source if the text
    is untrusted.
    """

    number: int
    id: str
    who: str
    text: str


class Archive:
    """The archive of all branches of one thread; in memory if it has no path. Blocking.

    The file is opened for each operation, so that a deleted one is created again. Without a file,
    the messages are kept in memory and indexed for each search, so that no open connection has to
    be closed.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        """The file; None for an archive in memory."""
        self._messages: dict[tuple[int, str], Archived] = {}
        """The messages of an archive without a file, by number and id."""

    @staticmethod
    def path_for(records: Path, thread_id: str) -> Path:
        """Return the path of a thread's archive in the records of its workspace."""
        return records / "archive" / f"{record_name(thread_id)}.sqlite"

    def add(self, messages: Iterable[Archived]) -> None:
        """Add messages, except those that are already archived.

        Raises:
            sqlite3.Error: the archive cannot be written.
        """
        rows = [message._replace(text=sanitize(message.text)) for message in messages]
        if self.path is None:
            for row in rows:
                self._messages.setdefault((row.number, row.id), row)
            return
        with self._connect() as connection:
            _insert(connection, rows)

    def begin_with(self, source: Path) -> None:
        """Copy the archive of the thread that this one was forked from.

        Nothing happens if this archive exists, or if the other one does not.

        Raises:
            sqlite3.Error: one of the archives cannot be used.
        """
        if self.path is None or self.path.exists() or not source.exists():
            return
        with contextlib.closing(sqlite3.connect(source)) as other, self._connect() as connection:
            other.backup(connection)

    def messages(self) -> list[Archived]:
        """Return all messages in the order in which they were archived."""
        return [Archived(*row) for row in self._rows(_ALL, 0)]

    def numbered(self, number: int) -> list[Archived]:
        """Return the messages with a number: one, or several if the thread has branches."""
        return [Archived(*row) for row in self._rows(_BY_NUMBER, number)]

    def ids(self) -> set[str]:
        """Return the ids of all archived messages."""
        if self.path is None:
            return {message_id for _, message_id in self._messages}
        with self._connect() as connection:
            return {row[0] for row in connection.execute("SELECT id FROM archived")}

    def search(self, query: str, limit: int = 5) -> list[Archived]:
        """Return the messages that best match a query, the best first."""
        searched = query[:_MAX_QUERY].encode("utf-8", "ignore").decode()
        terms = list(dict.fromkeys(re.findall(r"\w+", searched)))[:_TERMS]
        scores: defaultdict[int, float] = defaultdict(float)
        if terms:
            words = " OR ".join(f'"{term}"' for term in terms)
            for rank, row in enumerate(self._rows(_WORDS, words)):
                scores[row[0]] += 1 / (10 + rank)
        for fragment in _split_unspaced(searched) if terms else searched.split()[:_TERMS]:
            for row in self._rows(_CONTAINING, fragment):
                scores[row[0]] += 0.1
        best = sorted(scores, key=lambda row: (-scores[row], row))[:limit]
        messages: list[Archived] = []
        for row in best:
            messages += [Archived(*values) for values in self._rows(_BY_ROW, row)]
        return messages

    def _rows(self, clause: str, value: int | str) -> list[Any]:
        with self._connect() as connection:
            return connection.execute(clause, (value,)).fetchall()

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for one transaction."""
        if self.path is not None:
            open_record(self.path).close()  # SQLite would follow a symbolic link
        location = str(self.path or ":memory:")
        with contextlib.closing(sqlite3.connect(location, timeout=_BUSY_TIMEOUT)) as connection:
            connection.executescript(_SCHEMA)
            with connection:
                if self.path is None:
                    _insert(connection, self._messages.values())
                yield connection


def _insert(connection: sqlite3.Connection, rows: Iterable[Archived]) -> None:
    """Insert messages and index their words; skip those that already exist."""
    for row in rows:
        statement = "INSERT OR IGNORE INTO archived VALUES (?, ?, ?, ?)"
        if (cursor := connection.execute(statement, row)).rowcount:
            index = "INSERT INTO archived_words (rowid, text) VALUES (?, ?)"
            connection.execute(index, (cursor.lastrowid, row.text))


def _split_unspaced(query: str) -> list[str]:
    """Return pairs of characters in scripts without spaces, which the word index cannot find."""
    pairs: list[str] = []
    for run in _UNSPACED.findall(query):
        pairs += [run[start : start + 2] for start in range(max(1, len(run) - 1))]
    return list(dict.fromkeys(pairs))[:_TERMS]
