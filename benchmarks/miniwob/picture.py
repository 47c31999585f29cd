"""A screenshot as pixels, for pages that show something only as an image."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

Pixel = tuple[int, int, int]
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Picture:
    """Rows of pixels in RGB."""

    width: int
    height: int
    rows: list[bytes]
    channels: int

    def at(self, x: int, y: int) -> Pixel:
        start = x * self.channels
        red, green, blue = self.rows[y][start : start + 3]
        return red, green, blue


def read_png(data: bytes) -> Picture:
    """Decode a PNG with 8 bits a channel and no interlacing, as Chromium writes them.

    Raises:
        ValueError: it is another kind of file.
    """
    if not data.startswith(_SIGNATURE):
        raise ValueError("this is no PNG")
    position = len(_SIGNATURE)
    packed = b""
    header = b""
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], "big")
        kind = data[position + 4 : position + 8]
        content = data[position + 8 : position + 8 + size]
        if kind == b"IHDR":
            header = content
        if kind == b"IDAT":
            packed += content
        position += 12 + size
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    channels = {2: 3, 6: 4}.get(color, 0)
    if depth != 8 or interlaced or not channels:
        raise ValueError("this PNG has another pixel format")
    return Picture(width, height, _unfilter(zlib.decompress(packed), width, channels), channels)


def _unfilter(raw: bytes, width: int, channels: int) -> list[bytes]:
    """Return the rows of pixels; each is stored with the filter that compresses it best."""
    stride = width * channels
    rows: list[bytes] = []
    above = bytes(stride)
    for start in range(0, len(raw), stride + 1):
        above = _unfilter_row(raw[start], raw[start + 1 : start + 1 + stride], above, channels)
        rows.append(above)
    return rows


def _unfilter_row(kind: int, row: bytes, above: bytes, channels: int) -> bytes:
    if kind == 0:
        return row
    result = bytearray(row)
    for index, value in enumerate(row):
        left = result[index - channels] if index >= channels else 0
        corner = above[index - channels] if index >= channels else 0
        predictions = (0, left, above[index], (left + above[index]) // 2)
        prediction = predictions[kind] if kind < 4 else _paeth(left, above[index], corner)
        result[index] = (value + prediction) & 255
    return bytes(result)


def _paeth(left: int, above: int, corner: int) -> int:
    """Return the neighbor that is nearest to the linear estimate, as PNG defines it."""
    estimate = left + above - corner
    return min((left, above, corner), key=lambda value: abs(estimate - value))
