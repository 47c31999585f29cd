"""Checkpoints in a third of the room: LangGraph's own encoding, compressed.

A checkpoint is small and much like the one before it (channel names and versions mostly), so a
dictionary of what recurs does more than the compression itself.
"""

from __future__ import annotations

import zlib
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from manus.recurring import FIRST, SECOND

_SMALL = 48
"""Bytes below which compressing is not worth it."""
_DICTIONARIES = {"zlib": FIRST, "zlib2": SECOND}
_NEWEST = "zlib2"


class CompactSerializer(JsonPlusSerializer):
    """`JsonPlusSerializer` that compresses what is large enough, and reads both forms."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """As the base; the type of what was compressed ends in `+` and the dictionary's name."""
        kind, data = super().dumps_typed(obj)
        if len(data) < _SMALL:
            return kind, data
        packer = zlib.compressobj(6, zdict=_DICTIONARIES[_NEWEST])
        return f"{kind}+{_NEWEST}", packer.compress(data) + packer.flush()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """As the base, for compressed and plain values."""
        written, packed = data
        kind, _, name = written.partition("+")
        if name in _DICTIONARIES:
            packed = zlib.decompressobj(zdict=_DICTIONARIES[name]).decompress(packed)
            written = kind
        return super().loads_typed((written, packed))
