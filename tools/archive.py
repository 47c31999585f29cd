"""What was taken out of a thread's history, searchable: SQLite with its full-text index."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from state.errors import ToolUnavailableError
from tools.journal import Journal

# Words for languages with spaces; trigrams for parts of names, for code and for the others.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, who TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_number ON messages (number);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    text, content = 'messages', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE IF NOT EXISTS grams USING fts5 (
    text, content = 'messages', tokenize = 'trigram'
);
"""
_TERM = re.compile(r"\w+", re.UNICODE)
_CLAUSES = {
    "words": "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY 2 LIMIT ?",
    "grams": "SELECT rowid, bm25(grams) FROM grams WHERE grams MATCH ? ORDER BY 2 LIMIT ?",
}
_GRAM = 3
_TERMS = 20
_CANDIDATES = 50


class Archived(NamedTuple):
    """One message that was taken out. `who` is the user, the agent, or the tool's name."""

    id: str
    number: int
    who: str
    text: str


class Archive:
    """The archive of one thread; in memory if it has no path. Every method is blocking."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._inherited: set[Path] = set()
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    @staticmethod
    def path_for(private: Path, thread_id: str) -> Path:
        """Where the archive of a thread is kept, below the workspace's private directory."""
        return private / "archive" / f"{Journal.path_for(private, thread_id).stem}.sqlite"

    def add(self, messages: Iterable[Archived]) -> None:
        """Put messages in; one that is there already is left as it is.

        Raises:
            sqlite3.Error: it cannot be written.
        """
        with self._lock, self._open() as connection:
            for message in messages:
                added = connection.execute(
                    "INSERT OR IGNORE INTO messages (id, number, who, text) VALUES (?, ?, ?, ?)",
                    (message.id, message.number, message.who, _clean(message.text)),
                )
                if added.rowcount:
                    row = (added.lastrowid, _clean(message.text))
                    connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", row)
                    connection.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", row)

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
        try:
            self.add(other._up_to(most))
        finally:
            other.close()

    def _up_to(self, most: int) -> list[Archived]:
        clause = "SELECT id, number, who, text FROM messages WHERE number <= ? ORDER BY number"
        return self._read(clause, (most,))

    def numbered(self, number: int) -> list[Archived]:
        """The messages of a number: one, or several where a thread was forked."""
        return self._read("SELECT id, number, who, text FROM messages WHERE number = ?", (number,))

    def search(self, query: str, limit: int = 5) -> list[Archived]:
        """The messages that fit a query best, the best first."""
        terms = list(dict.fromkeys(_TERM.findall(query)))[:_TERMS]
        ranks: dict[int, float] = {}
        for table, wanted in (("words", terms), ("grams", [t for t in terms if len(t) >= _GRAM])):
            for place, row in enumerate(self._matches(table, wanted)):
                ranks[row] = ranks.get(row, 0.0) + 1 / (10 + place)
        short = [term for term in terms if len(term) < _GRAM and not term.isascii()]
        for place, row in enumerate(self._containing(short)):
            ranks[row] = ranks.get(row, 0.0) + 1 / (10 + place)
        best = sorted(ranks, key=lambda row: (-ranks[row], row))[:limit]
        return [found for row in best for found in self._row(row)]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _matches(self, table: str, terms: list[str]) -> list[int]:
        if not terms:
            return []
        match = " OR ".join(f'"{term}"' for term in terms)
        with self._lock, self._open() as connection:
            found = connection.execute(_CLAUSES[table], (match, _CANDIDATES)).fetchall()
        return [int(row) for row, _ in found]

    def _containing(self, terms: list[str]) -> list[int]:
        """Words of one or two signs, as Chinese has them, which no index holds."""
        found: list[int] = []
        for term in terms:
            clause = "SELECT rowid FROM messages WHERE instr(text, ?) LIMIT ?"
            with self._lock, self._open() as connection:
                found += [row for (row,) in connection.execute(clause, (term, _CANDIDATES))]
        return found

    def _row(self, row: int) -> list[Archived]:
        return self._read("SELECT id, number, who, text FROM messages WHERE rowid = ?", (row,))

    def _read(self, clause: str, values: tuple[int, ...]) -> list[Archived]:
        with self._lock, self._open() as connection:
            return [Archived(*row) for row in connection.execute(clause, values).fetchall()]

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path or ":memory:", check_same_thread=False)
            try:
                connection.execute("PRAGMA busy_timeout = 5000")
                connection.executescript(_SCHEMA)
            except sqlite3.DatabaseError as error:
                connection.close()
                raise ToolUnavailableError(f"The archive cannot be used: {error}.") from None
            self._connection = connection
        return self._connection


def _clean(text: str) -> str:
    """The text without half surrogate pairs, which SQLite cannot store."""
    return text.encode("utf-8", "replace").decode("utf-8")
