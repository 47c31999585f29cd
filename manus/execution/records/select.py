"""Find the records that belong to a checkpointer."""

from __future__ import annotations

from typing import Any

from manus.execution.records.base import Records


def select_records(saver: Any) -> Records | None:
    """Return the journals beside the checkpoints of a saver; None if it has no place for them."""
    records: Records | None = getattr(saver, "records", None)
    return records
