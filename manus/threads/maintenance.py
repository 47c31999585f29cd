"""Prune, copy and delete threads of a SQLite file.

The history of a thread is stored as writes: reading its newest checkpoint needs the checkpoints
before it, back to one with a full copy. Pruning therefore keeps these, and a run on which later
ones depend is not deleted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from langgraph.checkpoint.serde.base import SerializerProtocol

from manus.state.errors import UsageError
from manus.threads.base import StoredThread
from manus.threads.maintenance_texts import explain_existing, explain_needed

STRATEGIES = ("keep_latest", "delete")
_TABLES = ("checkpoints", "writes")
_NAMESPACES = "SELECT DISTINCT checkpoint_ns FROM checkpoints WHERE thread_id = ?"
_CHECKPOINTS = """
    SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY checkpoint_id DESC
"""
_WRITTEN = "SELECT DISTINCT channel FROM writes WHERE thread_id = ? AND checkpoint_ns = ?"
_OF_RUN = """
    SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints
    WHERE json_extract(CAST(metadata AS TEXT), '$.run_id') = ?
"""
_SIZES = """
    SELECT thread_id, checkpoint_ns, SUM(size), MAX(checkpoint_id) FROM (
        SELECT thread_id, checkpoint_ns, checkpoint_id,
            LENGTH(checkpoint) + LENGTH(metadata) AS size
        FROM checkpoints WHERE thread_id IN (SELECT value FROM json_each(:threads))
        UNION ALL
        SELECT thread_id, checkpoint_ns, checkpoint_id, LENGTH(value)
        FROM writes WHERE thread_id IN (SELECT value FROM json_each(:threads))
    ) GROUP BY thread_id, checkpoint_ns
"""
_WRITE_TITLE = """
    UPDATE checkpoints
    SET metadata = CAST(json_set(CAST(metadata AS TEXT), '$.request', ?) AS BLOB)
    WHERE thread_id = ? AND checkpoint_ns = '' AND json_valid(CAST(metadata AS TEXT))
"""
_WORKSPACES = """
    SELECT json_extract(CAST(metadata AS TEXT), '$.workspace') AS workspace FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = '' AND json_valid(CAST(metadata AS TEXT))
    GROUP BY workspace HAVING workspace IS NOT NULL ORDER BY MAX(checkpoint_id) DESC
"""
_KEEP_CHECKPOINT = """
    DELETE FROM checkpoints
    WHERE thread_id = ?1 AND NOT (checkpoint_ns = '' AND checkpoint_id = ?2)
"""
_UNLINK = "UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE thread_id = ?1"
_KEEP_WRITES = """
    DELETE FROM writes WHERE thread_id = ?1 AND NOT (checkpoint_ns = '' AND checkpoint_id = ?2)
"""
_FREE_SHARE = 4
Key = tuple[str, str, str]
"""Thread, namespace and checkpoint."""
Row = tuple[str, str | None, str, bytes]
"""Id of a checkpoint, id of its parent, type of its data, data."""


def prune(cursor: sqlite3.Cursor, serde: SerializerProtocol, thread_id: str, strategy: str) -> None:
    """Delete the checkpoints of a thread, or all that its newest ones do not need.

    Raises:
        UsageError: the strategy is unknown.
    """
    if strategy not in STRATEGIES:
        raise UsageError(f"Unknown strategy `{strategy}`; choose from: {', '.join(STRATEGIES)}.")
    namespaces = [row[0] for row in cursor.execute(_NAMESPACES, (thread_id,)).fetchall()]
    for namespace in namespaces:
        rows = cursor.execute(_CHECKPOINTS, (thread_id, namespace)).fetchall()
        needed: set[str] = set()
        if strategy == "keep_latest":
            channels = {row[0] for row in cursor.execute(_WRITTEN, (thread_id, namespace))}
            needed = _find_needed(rows, rows[0][0], channels, serde)
        for checkpoint_id, *_ in rows:
            if checkpoint_id not in needed:
                _delete(cursor, (thread_id, namespace, checkpoint_id))


def measure(cursor: sqlite3.Cursor, thread_ids: Sequence[str]) -> dict[str, StoredThread]:
    """Return the sizes of threads by namespace, in one query."""
    threads = {thread_id: StoredThread() for thread_id in thread_ids}
    rows = cursor.execute(_SIZES, {"threads": json.dumps([*thread_ids])})
    for thread_id, namespace, size, newest in rows:
        threads[thread_id].sizes[namespace] = size
        if not namespace:
            threads[thread_id].newest = newest
    return threads


def write_title(cursor: sqlite3.Cursor, thread_id: str, title: str) -> None:
    """Store the title of a thread in the metadata of its checkpoints."""
    cursor.execute(_WRITE_TITLE, (title, thread_id))


def read_workspaces(cursor: sqlite3.Cursor, thread_id: str) -> list[str]:
    """Return the workspaces of a thread, newest first."""
    return [str(row[0]) for row in cursor.execute(_WORKSPACES, (thread_id,))]


def keep_only(cursor: sqlite3.Cursor, thread_id: str, checkpoint_id: str) -> None:
    """Delete all checkpoints and writes of a thread except those of one checkpoint."""
    cursor.execute(_KEEP_CHECKPOINT, (thread_id, checkpoint_id))
    cursor.execute(_KEEP_WRITES, (thread_id, checkpoint_id))
    cursor.execute(_UNLINK, (thread_id,))


def has_much_free_space(connection: sqlite3.Connection) -> bool:
    """Return whether a quarter of a file or more is free."""
    [free] = connection.execute("PRAGMA freelist_count").fetchone()
    [pages] = connection.execute("PRAGMA page_count").fetchone()
    return int(free) * _FREE_SHARE > int(pages)


def _find_needed(
    rows: Sequence[Row], checkpoint_id: str, written_channels: set[str], serde: SerializerProtocol
) -> set[str]:
    """Return a checkpoint and those before it that contain parts of its channels."""
    by_id = {row[0]: row for row in rows}
    current: str | None = checkpoint_id
    needed: set[str] = set()
    missing: set[str] | None = None
    while current is not None and current in by_id:
        needed.add(current)
        _, parent, kind, data = by_id[current]
        checkpoint = serde.loads_typed((kind, data))
        present = set(checkpoint["channel_values"])
        if missing is None:
            # a channel that has a version but no value is read from the writes before it
            missing = set(checkpoint["channel_versions"]) & written_channels
        missing -= present
        if not missing:
            break
        current = parent
    return needed


def copy_thread(cursor: sqlite3.Cursor, source: str, target: str) -> None:
    """Copy all checkpoints and writes of a thread, which keep their ids, to another one.

    Raises:
        UsageError: the target exists.
    """
    if cursor.execute(_NAMESPACES, (target,)).fetchone() is not None:
        raise UsageError(explain_existing(target))
    for table in _TABLES:
        columns = [row[1] for row in cursor.execute(f"PRAGMA table_info({table})").fetchall()]
        others = ", ".join(name for name in columns if name != "thread_id")
        statement = f"INSERT INTO {table} (thread_id, {others}) SELECT ?, {others} FROM {table}"
        cursor.execute(f"{statement} WHERE thread_id = ?", (target, source))


def delete_runs(cursor: sqlite3.Cursor, serde: SerializerProtocol, run_ids: Sequence[str]) -> None:
    """Delete the checkpoints of runs.

    Raises:
        UsageError: a later run on the thread needs one of them.
    """
    deleted: dict[tuple[str, str], set[str]] = {}
    for run_id in run_ids:
        for thread_id, namespace, checkpoint_id in cursor.execute(_OF_RUN, (run_id,)).fetchall():
            deleted.setdefault((thread_id, namespace), set()).add(checkpoint_id)
    for place, ids in deleted.items():
        rows = cursor.execute(_CHECKPOINTS, place).fetchall()
        channels = {row[0] for row in cursor.execute(_WRITTEN, place)}
        for checkpoint_id, parent, *_ in rows:
            is_child = parent in ids and checkpoint_id not in ids
            if is_child and _find_needed(rows, checkpoint_id, channels, serde) & ids:
                raise UsageError(explain_needed(place[0]))
    for (thread_id, namespace), ids in deleted.items():
        for checkpoint_id in ids:
            _delete(cursor, (thread_id, namespace, checkpoint_id))


def _delete(cursor: sqlite3.Cursor, key: Key) -> None:
    for table in _TABLES:
        where = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
        cursor.execute(f"DELETE FROM {table} WHERE {where}", key)
