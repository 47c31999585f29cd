"""What was taken out of a thread's history, searchable: SQLite with its full-text index."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from manus.state.files import make_private_file, make_private_folder
from manus.state.sanitize import sanitize
from manus.tools.journal import Journal

log = logging.getLogger("manus")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
    id TEXT NOT NULL, number INTEGER NOT NULL, who TEXT NOT NULL, text TEXT NOT NULL,
    part TEXT NOT NULL, PRIMARY KEY (part, id)
);
CREATE INDEX IF NOT EXISTS by_number ON messages (number);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    text, content = 'messages', tokenize = 'porter unicode61 remove_diacritics 2'
);
"""
_ALL = "SELECT id, number, who, text, part FROM messages"
_SEEN = "(? IS NULL OR part IN (SELECT value FROM json_each(?)))"
_WORDS = (
    "SELECT messages.rowid FROM words JOIN messages ON messages.rowid = words.rowid"
    f" WHERE words MATCH ? AND {_SEEN} ORDER BY bm25(words) LIMIT 50"
)
_PIECES = f"SELECT rowid FROM messages WHERE instr(text, ?) AND {_SEEN} LIMIT 50"
_PATIENCE = 5.0
"""Seconds to wait for another process that writes to the archive."""
_BROKEN = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_LOOKED = 2_000
"""Characters of a query that are looked at."""
_TERMS = 20
# Scripts that put no space between words: Thai, Lao, Khmer, kana, Han, Hangul with its particles.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)


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
        self.path = path
        """Its file; None if it is in memory."""
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
            self._write_pending()

    def _write_pending(self) -> None:
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
        if self.path is None:
            return False
        if code & 0xFF in _BROKEN:
            self._close()
            aside = self.path.with_name(f"{self.path.name}.broken-{os.urandom(4).hex()}")
            self.path.replace(aside)
            log.warning("the archive %s was broken; it is kept as %s", self.path, aside.name)
            return True
        if code != sqlite3.SQLITE_READONLY_DBMOVED or self._connection is None:
            return False
        held = [Archived(*row) for row in self._connection.execute(_ALL).fetchall()]
        self._close()
        self._pending = [*held, *self._pending]
        return True

    def inherit(self, source: Path, most: int) -> None:
        """Take over the messages up to the number `most` from the archive of a thread.

        That is the one which this thread was forked from. Nothing happens if they are there, or
        if the other archive has gone.

        Raises:
            sqlite3.Error: one of the two cannot be used.
        """
        if source == self.path or source in self._inherited:
            return
        self._inherited.add(source)
        near = self.path and self.path.with_name(source.name)  # the workspace has moved
        found = next((p for p in (source, near) if p and p != self.path and p.exists()), None)
        if found is None or len(self._read("number <= ? ORDER BY number", most)) >= most:
            return
        other = Archive(found)
        other._view = self._view
        try:
            self.add(other._read("number <= ? ORDER BY number", most))
        finally:
            other.close()

    def is_empty(self) -> bool:
        """Whether it holds nothing at all."""
        return not self._rows("SELECT 1 FROM messages LIMIT 1")

    def numbered(self, number: int) -> list[Archived]:
        """The messages of a number: one, or several where a thread was forked."""
        return self._read("number = ?", number)

    def search(self, query: str, limit: int = 5) -> list[Archived]:
        """The messages that fit a query best, the best first."""
        asked = query[:_LOOKED].encode("utf-8", "ignore").decode()
        terms = list(dict.fromkeys(re.findall(r"\w+", asked)))[:_TERMS]
        scores: defaultdict[int, float] = defaultdict(float)
        if terms:
            words = " OR ".join(f'"{term}"' for term in terms)
            for place, row in enumerate(self._rows(_WORDS, words, self._view, self._view)):
                scores[row[0]] += 1 / (10 + place)
        for piece in _pieces(asked) if terms else asked.split()[:_TERMS]:
            for row in self._rows(_PIECES, piece, self._view, self._view):
                scores[row[0]] += 0.1
        best = sorted(scores, key=lambda row: (-scores[row], row))[:limit]
        return [found for row in best for found in self._read("rowid = ?", row)]

    def close(self) -> None:
        """Close the file; what is pending is put in if it can be."""
        with self._lock:
            with contextlib.suppress(sqlite3.Error, OSError):
                self._write_pending()
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self, clause: str, value: int) -> list[Archived]:
        """The messages in view; one that is in several parts of it once."""
        rows = self._rows(f"{_ALL} WHERE {_SEEN} AND {clause}", self._view, self._view, value)
        return list({(row[0], row[3]): Archived(*row) for row in rows}.values())

    def _rows(self, clause: str, *values: Any) -> list[Any]:
        """What a question finds, with what was pending put in first where it can be."""
        with self._lock:
            with contextlib.suppress(sqlite3.Error, OSError):
                self._write_pending()
            return self._open().execute(clause, values).fetchall()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self.path is not None:
                make_private_folder(self.path.parent)
                make_private_file(self.path)
            connection = sqlite3.connect(
                self.path or ":memory:", timeout=self._patience, check_same_thread=False
            )
            try:
                connection.executescript(_SCHEMA)
            except sqlite3.DatabaseError:
                connection.close()
                raise
            self._connection = connection
        return self._connection


def _put(connection: sqlite3.Connection, message: Archived) -> None:
    """Put a message in; one that is there already gets its number."""
    row = message._replace(text=sanitize(message.text))
    added = connection.execute("INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?, ?)", row)
    if added.rowcount:
        index = "INSERT INTO words (rowid, text) VALUES (?, ?)"
        connection.execute(index, (added.lastrowid, row.text))
    else:
        update = "UPDATE messages SET number = ? WHERE part = ? AND id = ?"
        connection.execute(update, (row.number, row.part, row.id))


def _pieces(query: str) -> list[str]:
    """Twos of what has no spaces between its words, which the index by words does not find."""
    runs = _UNSPACED.findall(query)
    twos = [run[place : place + 2] for run in runs for place in range(max(1, len(run) - 1))]
    return list(dict.fromkeys(twos))[:_TERMS]
