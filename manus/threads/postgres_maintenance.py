"""Statements that copy, measure and compact threads of a PostgreSQL database, and delete runs."""

from __future__ import annotations

from typing import LiteralString

EXISTS: LiteralString = "SELECT 1 FROM checkpoints WHERE thread_id = %s LIMIT 1"
COPY: tuple[LiteralString, ...] = (
    """
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %s, checkpoint_ns, channel, version, type, blob
    FROM checkpoint_blobs WHERE thread_id = %s ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO checkpoint_writes (
        thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
    )
    SELECT %s, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
    FROM checkpoint_writes WHERE thread_id = %s ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO checkpoints (
        thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
    )
    SELECT %s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
    FROM checkpoints WHERE thread_id = %s ON CONFLICT DO NOTHING
    """,
)
"""Their parameters are the new thread and the old one."""

NEEDED: LiteralString = """
    SELECT child.thread_id FROM checkpoints child JOIN checkpoints parent
        ON parent.thread_id = child.thread_id AND parent.checkpoint_ns = child.checkpoint_ns
        AND parent.checkpoint_id = child.parent_checkpoint_id
    WHERE parent.metadata->>'run_id' = ANY(%(runs)s)
        AND COALESCE(child.metadata->>'run_id', '') <> ALL(%(runs)s)
        AND EXISTS (
            SELECT 1 FROM jsonb_each_text(child.checkpoint->'channel_versions') version
            WHERE NOT COALESCE(child.checkpoint->'channel_values', '{}'::jsonb) ? version.key
            AND NOT EXISTS (
                SELECT 1 FROM checkpoint_blobs blobs
                WHERE blobs.thread_id = child.thread_id AND blobs.channel = version.key
                AND blobs.checkpoint_ns = child.checkpoint_ns AND blobs.version = version.value
                AND blobs.type <> 'empty'
            )
            AND EXISTS (
                SELECT 1 FROM checkpoint_writes writes
                WHERE writes.thread_id = child.thread_id AND writes.channel = version.key
                AND writes.checkpoint_ns = child.checkpoint_ns
            )
        )
    LIMIT 1
"""
"""A thread with a checkpoint of another run whose channels are read from writes of these runs."""

DELETE_RUNS: tuple[LiteralString, ...] = (
    """
    DELETE FROM checkpoint_writes writes USING checkpoints
    WHERE writes.thread_id = checkpoints.thread_id
        AND writes.checkpoint_ns = checkpoints.checkpoint_ns
        AND writes.checkpoint_id = checkpoints.checkpoint_id
        AND checkpoints.metadata->>'run_id' = ANY(%(runs)s)
    """,
    "DELETE FROM checkpoints WHERE metadata->>'run_id' = ANY(%(runs)s)",
)

SIZES: LiteralString = """
    SELECT thread_id, checkpoint_ns, sum(size)::bigint AS size, max(checkpoint_id) AS newest FROM (
        SELECT thread_id, checkpoint_ns, checkpoint_id,
            pg_column_size(checkpoint) + pg_column_size(metadata)
        FROM checkpoints WHERE thread_id = ANY(%(threads)s)
        UNION ALL
        SELECT thread_id, checkpoint_ns, checkpoint_id, octet_length(blob)
        FROM checkpoint_writes WHERE thread_id = ANY(%(threads)s)
        UNION ALL
        SELECT thread_id, checkpoint_ns, NULL, octet_length(blob)
        FROM checkpoint_blobs WHERE thread_id = ANY(%(threads)s)
        UNION ALL
        SELECT thread_id, checkpoint_ns, NULL, octet_length(line)
        FROM manus_journal WHERE thread_id = ANY(%(threads)s)
    ) AS rows (thread_id, checkpoint_ns, checkpoint_id, size) GROUP BY thread_id, checkpoint_ns
"""
TOTAL_SIZE: LiteralString = """
    SELECT coalesce(sum(pg_total_relation_size(oid)), 0) AS size FROM pg_class
    WHERE relkind = 'r' AND pg_table_is_visible(oid)
        AND (relname LIKE 'checkpoint%%' OR relname LIKE 'manus\\_%%')
"""
WRITE_TITLE: LiteralString = """
    UPDATE checkpoints SET metadata = jsonb_set(metadata, '{request}', to_jsonb(%s::text))
    WHERE thread_id = %s AND checkpoint_ns = ''
"""
WORKSPACES: LiteralString = """
    SELECT metadata->>'workspace' AS workspace FROM checkpoints
    WHERE thread_id = %s AND checkpoint_ns = '' AND metadata->>'workspace' IS NOT NULL
    GROUP BY 1 ORDER BY max(checkpoint_id) DESC
"""
KEEP_ONLY: tuple[LiteralString, ...] = (
    """
    DELETE FROM checkpoint_blobs blobs
    WHERE thread_id = %(thread)s AND NOT EXISTS (
        SELECT 1 FROM checkpoints kept
        WHERE kept.thread_id = blobs.thread_id AND kept.checkpoint_ns = ''
            AND blobs.checkpoint_ns = '' AND kept.checkpoint_id = %(checkpoint)s
            AND kept.checkpoint->'channel_versions'->>blobs.channel = blobs.version
    )
    """,
    """
    DELETE FROM checkpoint_writes
    WHERE thread_id = %(thread)s AND NOT (checkpoint_ns = '' AND checkpoint_id = %(checkpoint)s)
    """,
    """
    DELETE FROM checkpoints
    WHERE thread_id = %(thread)s AND NOT (checkpoint_ns = '' AND checkpoint_id = %(checkpoint)s)
    """,
    "UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE thread_id = %(thread)s",
)
