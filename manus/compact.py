"""Checkpoints in a third of the room: LangGraph's own encoding, compressed.

A checkpoint is small and much like the one before it (channel names and versions mostly), so a
dictionary of what recurs does more than the compression itself.
"""

from __future__ import annotations

import zlib
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from manus.recurring import FIRST, SECOND
from manus.state.errors import StorageError

_SMALL = 48
"""Bytes below which compressing is not worth it."""
_DICTIONARIES = {"zlib": FIRST, "zlib2": SECOND}
_NEWEST = "zlib2"
_WINDOW = 1 << 13
"""Bytes that a packer looks back; what is longer gets one that looks back further."""

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, NotImplementedError, zlib.error)
"""What reading may raise: the base has no error of its own for it."""


class _Packer:
    """Makes packers by copying one: it has read the dictionary, which costs more than the rest."""

    def __init__(self, dictionary: bytes) -> None:
        self._dictionary = dictionary
        self._small = self._made(_WINDOW.bit_length() - 1, 6)

    def _made(self, window: int, memory: int) -> zlib._Compress:
        return zlib.compressobj(6, zlib.DEFLATED, window, memory, zdict=self._dictionary)

    def packed(self, data: bytes) -> bytes:
        """The data compressed."""
        small = len(data) + len(self._dictionary) <= 2 * _WINDOW
        packer = self._small.copy() if small else self._made(zlib.MAX_WBITS, 8)
        return packer.compress(data) + packer.flush()


_PACKER = _Packer(_DICTIONARIES[_NEWEST])


class CompactSerializer(JsonPlusSerializer):
    """`JsonPlusSerializer` that compresses what is large enough, and reads both forms."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """As the base; the type of what was compressed ends in `+` and the dictionary's name."""
        kind, data = super().dumps_typed(obj)
        if len(data) < _SMALL:
            return kind, data
        return f"{kind}+{_NEWEST}", _PACKER.packed(data)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """As the base, for compressed and plain values.

        Raises:
            StorageError: it is damaged, or in a form that a later version of the program writes.
        """
        try:
            return self._loaded(data)
        except _UNREADABLE as error:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise StorageError(
                f"What is stored of the thread cannot be read ({said}): it is damaged, or a later "
                "version of the program wrote it; use that version, or restore it from a backup."
            ) from error

    def _loaded(self, data: tuple[str, bytes]) -> Any:
        written, packed = data
        kind, _, name = written.partition("+")
        if name in _DICTIONARIES:
            packed = zlib.decompressobj(zdict=_DICTIONARIES[name]).decompress(packed)
            written = kind
        return super().loads_typed((written, packed))
