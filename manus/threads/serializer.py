"""Serialize the values of a store: LangGraph's format, compressed with a preset dictionary."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from langgraph.checkpoint.serde.jsonplus import EXT_DELTA_SNAPSHOT, JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from manus.state.errors import StorageError
from manus.threads.dictionary import DICTIONARY

_MIN_COMPRESSED = 24
"""Bytes. Smaller values are stored uncompressed."""
_COMPRESSED = "+d1"
"""Suffix of the type of values that are compressed with `DICTIONARY`."""
_RAW_DEFLATE = -zlib.MAX_WBITS
"""No zlib header and checksum, because most values are small."""
_COMPRESSOR = zlib.compressobj(9, zlib.DEFLATED, _RAW_DEFLATE, zdict=DICTIONARY)
"""Copied for each value: indexing the dictionary takes longer than compressing a small value."""
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, NotImplementedError, zlib.error)
"""Errors that deserialization may raise; the base class has no error type of its own."""


def wrap_full_copy(value: Any) -> Any:
    """Return the value of a channel stored as deltas in the form in which it needs no deltas."""
    return _DeltaSnapshot(value)


def unwrap_full_copies(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of channels, with full copies as plain values."""
    plain: dict[str, Any] = {}
    for name, value in values.items():
        plain[name] = value.value if isinstance(value, _DeltaSnapshot) else value
    return plain


class _DisplaySerializer(JsonPlusSerializer):
    """Serializer that omits full copies of channels stored as deltas.

    They contain all messages of a thread, which are read from the deltas for display.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)
        decode = self._unpack_ext_hook

        def decode_others(code: int, data: bytes) -> Any:
            return None if code == EXT_DELTA_SNAPSHOT else decode(code, data)

        self._unpack_ext_hook = decode_others


class DecodedValues:
    """Deserialized values by their stored form, for a reader that reads a thread repeatedly.

    The values are shared and must not be modified. Those that a reading does not use are dropped
    after it.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[str, bytes], Any] = {}
        self._used: dict[tuple[str, bytes], Any] = {}

    def get(self, stored: tuple[str, bytes], decode: Callable[[tuple[str, bytes]], Any]) -> Any:
        """Return a value; deserialize it if it is not known yet."""
        key = (stored[0], bytes(stored[1]))
        value = self._values[key] if key in self._values else decode(key)
        self._used[key] = value
        return value

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Use the values in this block, which reads all of a thread."""
        self._used = {}
        token = decoded_values.set(self)
        try:
            yield
        finally:
            decoded_values.reset(token)
        self._values = self._used


decoded_values: ContextVar[DecodedValues | None] = ContextVar("decoded_values", default=None)
"""Set while a thread is read only for display."""


class CompactSerializer(JsonPlusSerializer):
    """LangGraph's serializer with compression; reads compressed and plain values.

    It creates only types that LangGraph considers safe: messages and plain data. Anything else in a
    file (a function to call, a pickle) is returned as raw data or not at all, never executed.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)
        self._display = _DisplaySerializer()

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialize a value; the type name of a compressed value ends in `+d1`."""
        kind, data = super().dumps_typed(obj)
        if len(data) < _MIN_COMPRESSED:
            return kind, data
        compressor = _COMPRESSOR.copy()
        compressed = compressor.compress(data) + compressor.flush()
        if len(compressed) >= len(data):
            return kind, data
        return f"{kind}{_COMPRESSED}", compressed

    def dumps_plain(self, obj: Any) -> tuple[str, bytes]:
        """Serialize a value without compression."""
        return super().dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Deserialize a compressed or plain value.

        Raises:
            StorageError: the value is damaged or has an unknown format.
        """
        decoded = decoded_values.get()
        if decoded is None:
            return self._decode(data, super().loads_typed)
        return decoded.get(data, partial(self._decode, load=self._display.loads_typed))

    def _decode(self, data: tuple[str, bytes], load: Callable[[tuple[str, bytes]], Any]) -> Any:
        kind, stored = data
        try:
            if kind.endswith(_COMPRESSED):
                kind = kind.removesuffix(_COMPRESSED)
                stored = _decompress(stored)
            return load((kind, stored))
        except _UNREADABLE as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            raise StorageError(
                f"The stored thread cannot be read ({reason}): it is damaged or was written by "
                "another version of manus; use that version, or restore a backup."
            ) from error


def _decompress(stored: bytes) -> bytes:
    decompressor = zlib.decompressobj(_RAW_DEFLATE, zdict=DICTIONARY)
    data = decompressor.decompress(stored) + decompressor.flush()
    if not decompressor.eof:
        raise ValueError("the compressed value is truncated")
    return data
