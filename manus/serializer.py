"""LangGraph's own encoding of checkpoints, compressed; read back as data, never as code."""

from __future__ import annotations

import zlib
from typing import Any

from langgraph.checkpoint.base import id as checkpoint_ids
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from manus.state.errors import StorageError

_SMALL = 64
"""Bytes below which compressing is not worth it."""
_COMPRESSED = "+z"
_BARE = -zlib.MAX_WBITS
"""Without a header and a checksum: most values are small."""

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, NotImplementedError, zlib.error)
"""What reading may raise: the base has no error of its own for it."""


class SafeSerializer(JsonPlusSerializer):
    """`JsonPlusSerializer` that makes only the types LangGraph calls safe: messages and plain data.

    All of our state is of those. Anything else in a file (a function to be called, a pickle) comes
    back as the data that it was written as, or not at all.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """As the base.

        Raises:
            StorageError: it is damaged, or in a form that is not known here.
        """
        try:
            return super().loads_typed(data)
        except _UNREADABLE as error:
            raise _unreadable(error) from error


class CompactSerializer(SafeSerializer):
    """`SafeSerializer` that compresses what is large enough, and reads both forms."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """As the base; the type of what was compressed ends in `+z`."""
        kind, data = super().dumps_typed(obj)
        if len(data) < _SMALL:
            return kind, data
        return f"{kind}{_COMPRESSED}", zlib.compress(data, 9, _BARE)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """As the base, for compressed and plain values."""
        kind, stored = data
        if kind.endswith(_COMPRESSED):
            try:
                stored = zlib.decompress(stored, _BARE)
            except zlib.error as error:
                raise _unreadable(error) from error
        return super().loads_typed((kind.removesuffix(_COMPRESSED), stored))


def _unreadable(error: Exception) -> StorageError:
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return StorageError(
        f"What is stored of the thread cannot be read ({said}): it is damaged, or another version "
        "of the program wrote it; use that version, or restore it from a backup."
    )


def make_ids_later_than(checkpoint_id: str | None) -> None:
    """Let each checkpoint that LangGraph makes from now on come after this one.

    Its ids are times, and the newest checkpoint of a thread is the one with the greatest id. After
    one that was written by a clock ahead of ours, all that we write would come before it.
    """
    try:
        time = checkpoint_ids.UUID(checkpoint_id or "").time
    except ValueError:  # not one of LangGraph's ids
        return
    clock: Any = checkpoint_ids
    if (clock._last_v6_timestamp or 0) < time:
        clock._last_v6_timestamp = time
