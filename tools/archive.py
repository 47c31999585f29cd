"""What was taken out of a thread's history, searchable: SQLite with its full-text index."""

from __future__ import annotations

import json
import logging
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from manus.state.text import sanitize
from manus.tools.beneath import open_own
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
# The sign keeps SQLite from walking through whole parts where a number leads straight to it.
_SEEN = "(? IS NULL OR +part IN (SELECT value FROM json_each(?)))"
_WORDS = (
    "SELECT messages.rowid FROM words JOIN messages ON messages.rowid = words.rowid"
    f" WHERE words MATCH ? AND {_SEEN} ORDER BY bm25(words) LIMIT 50"
)
_PIECES = f"SELECT rowid FROM messages WHERE instr(text, ?) AND {_SEEN} LIMIT 50"
_PATIENCE = 5.0
"""Seconds to wait for another process that writes to the archive."""
_LOOKED = 2_000
"""Characters of a query that are looked at."""
_TERMS = 20
FROM = " from "
# Scripts that put no space between words: Thai, Lao, Khmer, kana, Han, Hangul with its particles.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)


class Archived(NamedTuple):
    """One message that was taken out.

    `who` is the user, the agent, or the tool's name, with `FROM` and the source behind it if the
    text comes from outside.
    """

    id: str
    number: int
    who: str
    text: str
    part: str = ""
    """What it was taken out with. A thread that was forked has parts of several branches."""


class Archive:
    """The archive of one thread; in memory if it has no path. Blocking, but for `see`.

    Its file is opened for each question, so that one which was deleted meanwhile is made anew.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        """Its file; None if it is in memory."""
        self._inherited: set[Path] = set()
        self._view: str | None = None
        self._memory = _open(":memory:") if path is None else None

    @staticmethod
    def path_for(records: Path, thread_id: str) -> Path:
        """Where the archive of a thread is kept, below the records of its workspace."""
        return records / "archive" / f"{Journal.path_for(records, thread_id).stem}.sqlite"

    def see(self, parts: Iterable[str] | None) -> None:
        """Look into these parts only, those of one branch of the thread; None: into all."""
        self._view = None if parts is None else json.dumps(list(parts))

    def add(self, messages: Iterable[Archived]) -> None:
        """Put messages in; one that is there already gets the number that it has now.

        Raises:
            sqlite3.Error: it cannot be written.
        """
        with self._opened() as connection:
            for message in messages:
                _put(connection, message)

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
        self.add(other._read("number <= ? ORDER BY number", most))

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

    def _read(self, clause: str, value: int) -> list[Archived]:
        """The messages in view; one that is in several parts of it once."""
        rows = self._rows(f"{_ALL} WHERE {_SEEN} AND {clause}", self._view, self._view, value)
        return list({(row[0], row[3]): Archived(*row) for row in rows}.values())

    def _rows(self, clause: str, *values: Any) -> list[Any]:
        with self._opened() as connection:
            return connection.execute(clause, values).fetchall()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction; a file that is no archive is set aside."""
        connection = self._memory or self._open_file()
        try:
            with connection:
                yield connection
        finally:
            if connection is not self._memory:
                connection.close()

    def _open_file(self) -> sqlite3.Connection:
        assert self.path is not None
        open_own(self.path).close()  # SQLite itself would follow a link
        try:
            return _open(self.path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            aside = self.path.with_name(f"{self.path.name}.broken-{os.urandom(4).hex()}")
            self.path.replace(aside)
            log.warning("the archive %s was broken; it is kept as %s", self.path, aside.name)
            open_own(self.path).close()
            return _open(self.path)


def _open(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
    try:
        connection.executescript(_SCHEMA)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


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
