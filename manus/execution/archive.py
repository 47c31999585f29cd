"""What was taken out of a thread's history, searchable: SQLite with its full-text index."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from manus.execution.journal import Journal
from manus.execution.safe_open import open_own
from manus.state.text import sanitize

_SCHEMA = """
CREATE TABLE IF NOT EXISTS archived (
    number INTEGER NOT NULL, id TEXT NOT NULL, who TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (number, id)
);
CREATE VIRTUAL TABLE IF NOT EXISTS archived_words USING fts5 (
    text, content = 'archived', tokenize = 'porter unicode61 remove_diacritics 2'
);
"""
_BY_NUMBER = "SELECT number, id, who, text FROM archived WHERE number = ?"
_BY_ROW = "SELECT number, id, who, text FROM archived WHERE rowid = ?"
_WORDS = (
    "SELECT rowid FROM archived_words WHERE archived_words MATCH ?"
    " ORDER BY bm25(archived_words) LIMIT 50"
)
_PIECES = "SELECT rowid FROM archived WHERE instr(text, ?) LIMIT 50"
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

    number: int
    id: str
    who: str
    text: str


class Archive:
    """The archive of one thread, of all its branches; in memory if it has no path. Blocking.

    Its file is opened for each question, so that one which was deleted meanwhile is made anew.
    Without a file the messages are kept as they are and indexed for each question: no connection
    stays open that somebody would have to close.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        """Its file; None if it is in memory."""
        self._messages: dict[tuple[int, str], Archived] = {}
        """The messages of an archive without a file, by number and id."""

    @staticmethod
    def path_for(records: Path, thread_id: str) -> Path:
        """Where the archive of a thread is kept, below the records of its workspace."""
        return records / "archive" / f"{Journal.path_for(records, thread_id).stem}.sqlite"

    def add(self, messages: Iterable[Archived]) -> None:
        """Put messages in, those that are not there yet.

        Raises:
            sqlite3.Error: it cannot be written.
        """
        rows = [message._replace(text=sanitize(message.text)) for message in messages]
        if self.path is None:
            for row in rows:
                self._messages.setdefault((row.number, row.id), row)
            return
        with self._opened() as connection:
            _insert(connection, rows)

    def begin_with(self, source: Path) -> None:
        """Begin as a copy of another archive, of the thread which this one was forked from.

        Nothing happens if this one has begun, or if the other has gone.

        Raises:
            sqlite3.Error: one of the two cannot be used.
        """
        if self.path is None or self.path.exists() or not source.exists():
            return
        with contextlib.closing(sqlite3.connect(source)) as other, self._opened() as connection:
            other.backup(connection)

    def numbered(self, number: int) -> list[Archived]:
        """The messages of a number: one, or several where a thread has branches."""
        return [Archived(*row) for row in self._rows(_BY_NUMBER, number)]

    def search(self, query: str, limit: int = 5) -> list[Archived]:
        """The messages that fit a query best, the best first."""
        asked = query[:_LOOKED].encode("utf-8", "ignore").decode()
        terms = list(dict.fromkeys(re.findall(r"\w+", asked)))[:_TERMS]
        scores: defaultdict[int, float] = defaultdict(float)
        if terms:
            words = " OR ".join(f'"{term}"' for term in terms)
            for place, row in enumerate(self._rows(_WORDS, words)):
                scores[row[0]] += 1 / (10 + place)
        for piece in _pieces(asked) if terms else asked.split()[:_TERMS]:
            for row in self._rows(_PIECES, piece):
                scores[row[0]] += 0.1
        best = sorted(scores, key=lambda row: (-scores[row], row))[:limit]
        return [Archived(*found) for row in best for found in self._rows(_BY_ROW, row)]

    def _rows(self, clause: str, value: int | str) -> list[Any]:
        with self._opened() as connection:
            return connection.execute(clause, (value,)).fetchall()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for one transaction."""
        if self.path is not None:
            open_own(self.path).close()  # SQLite itself would follow a link
        place = str(self.path or ":memory:")
        with contextlib.closing(sqlite3.connect(place, timeout=_PATIENCE)) as connection:
            connection.executescript(_SCHEMA)
            with connection:
                if self.path is None:
                    _insert(connection, self._messages.values())
                yield connection


def _insert(connection: sqlite3.Connection, rows: Iterable[Archived]) -> None:
    """Insert messages and index their words; skip those that are there already."""
    for row in rows:
        put = "INSERT OR IGNORE INTO archived VALUES (?, ?, ?, ?)"
        if (added := connection.execute(put, row)).rowcount:
            index = "INSERT INTO archived_words (rowid, text) VALUES (?, ?)"
            connection.execute(index, (added.lastrowid, row.text))


def _pieces(query: str) -> list[str]:
    """Twos of what has no spaces between its words, which the index by words does not find."""
    runs = _UNSPACED.findall(query)
    twos = [run[place : place + 2] for run in runs for place in range(max(1, len(run) - 1))]
    return list(dict.fromkeys(twos))[:_TERMS]
