"""The SQL of the records in a PostgreSQL database."""

from __future__ import annotations

HAS_TABLES = """
    SELECT to_regclass('manus_meta') IS NOT NULL AND to_regclass('manus_inbox') IS NOT NULL
"""
LOCK_SETUP = "SELECT pg_advisory_xact_lock(hashtextextended('manus setup', 0))"
CREATE = """
    CREATE TABLE IF NOT EXISTS manus_threads (
        thread_id TEXT PRIMARY KEY,
        token BIGINT NOT NULL,
        run_id TEXT
    );
    CREATE TABLE IF NOT EXISTS manus_journal (
        thread_id TEXT NOT NULL,
        checkpoint_ns TEXT NOT NULL,
        position BIGINT GENERATED ALWAYS AS IDENTITY,
        line TEXT NOT NULL,
        PRIMARY KEY (thread_id, checkpoint_ns, position)
    );
    CREATE TABLE IF NOT EXISTS manus_inbox (
        thread_id TEXT NOT NULL,
        position BIGINT GENERATED ALWAYS AS IDENTITY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        fields JSONB NOT NULL,
        sent_at TEXT NOT NULL,
        reader TEXT,
        PRIMARY KEY (thread_id, position)
    );
    CREATE SEQUENCE IF NOT EXISTS manus_tokens;
    CREATE TABLE IF NOT EXISTS manus_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)
"""
ADD_MESSAGE = """
    INSERT INTO manus_inbox (thread_id, id, kind, text, fields, sent_at)
    VALUES (%s, %s, %s, %s, %s::jsonb, %s) ON CONFLICT DO NOTHING
"""
ADD_META = "INSERT INTO manus_meta VALUES (%s, %s) ON CONFLICT DO NOTHING"
HAS_META = "SELECT to_regclass('manus_meta') IS NOT NULL"
RAISE_VERSION = """
    UPDATE manus_meta SET value = %s WHERE name = 'schema' AND value::bigint < %s
"""
READ_META = "SELECT value FROM manus_meta WHERE name = %s"

_LOCK_KEY = "hashtextextended('manus:' || %s, 0)"
LOCK = f"SELECT pg_try_advisory_lock({_LOCK_KEY})"
UNLOCK = f"SELECT pg_advisory_unlock({_LOCK_KEY})"
# One sequence for all threads, so that the token of a deleted thread is never used again.
TAKE = """
    INSERT INTO manus_threads VALUES (%s, nextval('manus_tokens'), %s)
    ON CONFLICT (thread_id) DO UPDATE SET token = EXCLUDED.token, run_id = EXCLUDED.run_id
    RETURNING token
"""
TOKEN = "SELECT token FROM manus_threads WHERE thread_id = %s"
IS_SAME_RUN = "SELECT true FROM manus_threads WHERE thread_id = %s AND run_id = %s"
_HOLDS_KEY = """
    locktype = 'advisory' AND objsubid = 1 AND granted AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint = (key >> 32) & 4294967295 AND objid::bigint = key & 4294967295
"""
END_HOLDER = f"""
    SELECT pg_terminate_backend(pid, 1000) FROM pg_locks, (SELECT {_LOCK_KEY} AS key) AS lock
    WHERE {_HOLDS_KEY}
"""
HOLDERS = f"""
    SELECT thread_id, application_name FROM unnest(%s::text[]) AS thread_id,
        LATERAL (SELECT hashtextextended('manus:' || thread_id, 0) AS key) AS lock,
        pg_locks JOIN pg_stat_activity AS activity USING (pid)
    WHERE {_HOLDS_KEY}
"""
END_BLOCKERS = "SELECT pg_terminate_backend(pid) FROM unnest(pg_blocking_pids(%s)) AS pid"
# The division fails, and with it the transaction, if the token is not the newest. This needs no
# extra round trip, and the locked row makes a takeover wait until the write is committed.
FENCE = """
    SELECT 1 / count(*) FROM (
        SELECT 1 FROM manus_threads WHERE thread_id = %s AND token = %s FOR SHARE
    ) AS held
"""
FORGET = "DELETE FROM manus_threads WHERE thread_id = %s AND token = %s"
FORGET_ANY = "DELETE FROM manus_threads WHERE thread_id = %s"

LINES = """
    SELECT position, line FROM manus_journal WHERE thread_id = %s AND checkpoint_ns = %s
    ORDER BY position
"""
INSERT = """
    INSERT INTO manus_journal (thread_id, checkpoint_ns, line)
    SELECT %s, %s, %s FROM manus_threads WHERE thread_id = %s AND token = %s FOR SHARE
    RETURNING position
"""
SIZE = """
    SELECT coalesce(sum(octet_length(line)), 0) FROM manus_journal
    WHERE thread_id = %s AND checkpoint_ns = %s
"""
NEWEST_POSITION = """
    SELECT coalesce(max(position), 0) FROM manus_journal
    WHERE thread_id = %s AND checkpoint_ns = %s
"""
DELETE_JOURNAL = "DELETE FROM manus_journal WHERE thread_id = %s AND checkpoint_ns = %s"
DELETE_THREAD = "DELETE FROM manus_journal WHERE thread_id = %s"
