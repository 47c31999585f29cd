"""Threads and their checkpoints, in SQLite or PostgreSQL."""
