"""What was taken out of a thread's history, searchable: SQLite with its full-text index."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from manus.tools.archive_query import taken_apart
from manus.tools.journal import Journal

log = logging.getLogger("manus")

# Words for languages with spaces; trigrams for parts of names, for code and for the others.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, who TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_number ON messages (number);
CREATE TABLE IF NOT EXISTS parts (
    part TEXT NOT NULL, message INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (part, message)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS parts_of_message ON parts (message);
CREATE INDEX IF NOT EXISTS parts_by_number ON parts (number);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    text, content = 'messages', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE IF NOT EXISTS grams USING fts5 (
    text, content = 'messages', tokenize = 'trigram'
);
"""
_INDEXES = (
    "INSERT INTO words (rowid, text) VALUES (?, ?)",
    "INSERT INTO grams (rowid, text) VALUES (?, ?)",
)
_SEEN = " AND (? IS NULL OR rowid IN (SELECT message FROM parts, json_each(?) WHERE part = value))"
_CLAUSES = {
    "words": f"SELECT rowid FROM words WHERE words MATCH ?{_SEEN} ORDER BY bm25(words) LIMIT ?",
    "grams": f"SELECT rowid FROM grams WHERE grams MATCH ?{_SEEN} ORDER BY bm25(grams) LIMIT ?",
    "signs": f"SELECT rowid FROM messages WHERE instr(text, ?){_SEEN} LIMIT ?",
}
_CANDIDATES = 50
_SIGNS = 5
"""Parts of a query without words that are looked for."""
_PATIENCE = 5.0
"""Seconds to wait for another process that writes to the archive."""
_BROKEN = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_ALL = (
    "SELECT id, coalesce(parts.number, messages.number) AS at, who, text, coalesce(part, '')"
    " FROM messages LEFT JOIN parts ON message = messages.rowid"
)
_NUMBERED = (
    " AND at = ? AND messages.rowid IN (SELECT rowid FROM messages WHERE number = ?"
    " UNION SELECT message FROM parts WHERE number = ?)"
)
_IN_VIEW = " WHERE (? IS NULL OR part IN (SELECT value FROM json_each(?)))"


class Archived(NamedTuple):
    """One message that was taken out. `who` is the user, the agent, or the tool's name."""

    id: str
    number: int
    who: str
    text: str
    part: str = ""
    """What it was taken out with. A thread that was forked has parts of several branches."""


class Archive:
    """The archive of one thread; in memory if it has no path. Blocking, but for `see`."""

    def __init__(self, path: Path | None = None, *, patience: float = _PATIENCE) -> None:
        self._path = path
        self._patience = patience
        self._pending: list[Archived] = []
        self._inherited: set[Path] = set()
        self._view: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    @staticmethod
    def path_for(private: Path, thread_id: str) -> Path:
        """Where the archive of a thread is kept, below the workspace's private directory."""
        return private / "archive" / f"{Journal.path_for(private, thread_id).stem}.sqlite"

    def see(self, parts: Iterable[str] | None) -> None:
        """Look into these parts only, those of one branch of the thread; None: into all."""
        self._view = None if parts is None else json.dumps(list(parts))

    def add(self, messages: Iterable[Archived]) -> None:
        """Put messages in; one that is there already gets the number that it has now.

        What cannot be written is kept, and put in as soon as it can be. A file that is no archive
        is set aside; one that was deleted is written anew.

        Raises:
            sqlite3.Error: it cannot be written now.
        """
        with self._lock:
            self._pending += messages
            self._settle()

    def _settle(self) -> None:
        """Write what is pending."""
        if not self._pending:
            return
        try:
            self._write(self._pending)
        except sqlite3.DatabaseError as error:
            if not self._renewed(error):
                raise
            self._write(self._pending)
        self._pending = []

    def _write(self, messages: Iterable[Archived]) -> None:
        with self._open() as connection:
            for message in messages:
                _put(connection, message)

    def _renewed(self, error: sqlite3.DatabaseError) -> bool:
        """Whether the archive could be begun anew, because its file is broken or has gone."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
        if self._path is None:
            return False
        if code & 0xFF in _BROKEN:
            self._close()
            aside = self._path.with_name(f"{self._path.name}.broken-{os.urandom(4).hex()}")
            self._path.replace(aside)
            log.warning("the archive %s was broken; it is kept as %s", self._path, aside.name)
            return True
        if code != sqlite3.SQLITE_READONLY_DBMOVED or self._connection is None:
            return False
        held = [Archived(*row) for row in self._connection.execute(_ALL).fetchall()]
        self._close()
        self._pending = [*held, *self._pending]
        return True

    @property
    def path(self) -> Path | None:
        """Its file; None if it is in memory."""
        return self._path

    def inherit(self, source: Path, most: int) -> None:
        """Take over the messages up to the number `most` from the archive of a thread.

        That is the one which this thread was forked from. Nothing happens if they are there, or
        if the other archive has gone.

        Raises:
            sqlite3.Error: one of the two cannot be used.
        """
        if source == self._path or source in self._inherited:
            return
        self._inherited.add(source)
        near = self._path and self._path.with_name(source.name)  # the workspace has moved
        found = next((p for p in (source, near) if p and p != self._path and p.exists()), None)
        if found is None or len(self._up_to(most)) >= most:
            return
        other = Archive(found)
        other._view = self._view
        try:
            self.add(other._up_to(most))
        finally:
            other.close()

    def _up_to(self, most: int) -> list[Archived]:
        return self._read(" AND at <= ? ORDER BY at", (most,))

    def is_empty(self) -> bool:
        """Whether it holds nothing at all."""
        return not self._rows("SELECT 1 FROM messages LIMIT 1", ())

    def numbered(self, number: int) -> list[Archived]:
        """The messages of a number: one, or several where a thread was forked."""
        return self._read(_NUMBERED, (number, number, number))

    def search(self, query: str, limit: int = 5) -> list[Archived]:
        """The messages that fit a query best, the best first."""
        asked = taken_apart(query)
        if not asked.words:
            return self._with_signs(query, limit)
        found = [
            self._matches("words", asked.words),
            self._matches("grams", asked.grams),
            self._containing(asked.pairs),
        ]
        if not any(found):
            found = [self._containing(asked.weak)]
        ranks: dict[int, float] = {}
        for rows in found:
            for place, row in enumerate(rows):
                ranks[row] = ranks.get(row, 0.0) + 1 / (10 + place)
        best = sorted(ranks, key=lambda row: (-ranks[row], row))[:limit]
        return [found for row in best for found in self._row(row)]

    def _with_signs(self, query: str, limit: int) -> list[Archived]:
        """The messages with what is asked for where that is no word: `→`, `👍`, `!=`."""
        whole = query.encode("utf-8", "ignore").decode("utf-8")
        rows = self._containing(list(dict.fromkeys(whole.split()))[:_SIGNS])
        return [found for row in list(dict.fromkeys(rows))[:limit] for found in self._row(row)]

    def close(self) -> None:
        """Close the file; what is pending is put in if it can be."""
        with self._lock:
            with contextlib.suppress(sqlite3.Error, OSError):
                self._settle()
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _matches(self, table: str, terms: list[str]) -> list[int]:
        return self._found(table, " OR ".join(f'"{term}"' for term in terms)) if terms else []

    def _containing(self, terms: list[str]) -> list[int]:
        """Words of one or two signs, as Chinese has them, which no index holds."""
        return [row for term in terms for row in self._found("signs", term)]

    def _found(self, clause: str, asked: str) -> list[int]:
        values = (asked, self._view, self._view, _CANDIDATES)
        return [int(row) for (row,) in self._rows(_CLAUSES[clause], values)]

    def _row(self, row: int) -> list[Archived]:
        return self._read(" AND messages.rowid = ?", (row,))

    def _read(self, clause: str, values: tuple[int, ...]) -> list[Archived]:
        """The messages in view; one that is in several parts of it once."""
        rows = self._rows(f"{_ALL}{_IN_VIEW}{clause}", (self._view, self._view, *values))
        return list({row[0]: Archived(*row) for row in rows}.values())

    def _rows(self, clause: str, values: tuple[Any, ...]) -> list[Any]:
        """What a question finds, with what was pending put in first where it can be."""
        with self._lock:
            with contextlib.suppress(sqlite3.Error, OSError):
                self._settle()
            return self._open().execute(clause, values).fetchall()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self._path or ":memory:", timeout=self._patience, check_same_thread=False
            )
            try:
                connection.executescript(_SCHEMA)
            except sqlite3.DatabaseError:
                connection.close()
                raise
            self._connection = connection
        return self._connection


def _put(connection: sqlite3.Connection, message: Archived) -> None:
    """Put a message in; one that is there already gets its number, or is in one part more."""
    text = _clean(message.text)
    row = (_key(connection, message.id, text), message.number, message.who, text)
    added = connection.execute("INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?)", row)
    if added.rowcount:
        for index in _INDEXES:
            connection.execute(index, (added.lastrowid, text))
    else:
        update = "UPDATE messages SET number = ? WHERE id = ?"
        connection.execute(update, (message.number, row[0]))
    if message.part:
        into = "INSERT OR REPLACE INTO parts SELECT ?, rowid, ? FROM messages WHERE id = ?"
        connection.execute(into, (message.part, message.number, row[0]))


def _key(connection: sqlite3.Connection, name: str, text: str) -> str:
    """The id of a message, or another one where two branches of a thread said otherwise by it."""
    held = connection.execute("SELECT text FROM messages WHERE id = ?", (name,)).fetchone()
    if held is None or held[0] == text:
        return name
    return f"{name}~{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _clean(text: str) -> str:
    """The text without half surrogate pairs, which SQLite cannot store."""
    return text.encode("utf-8", "replace").decode("utf-8")
