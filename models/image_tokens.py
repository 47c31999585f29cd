"""What an image costs in tokens: from its size, by the rules that providers publish."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Mapping
from typing import Any

UNKNOWN = (1024, 768)
"""Width and height taken for an image whose size cannot be told (an address)."""
_HEAD = 64 * 1024
"""Characters of base64 that are looked at."""


def image_tokens(block: Mapping[str, Any], provider: str = "openai") -> float:
    """The tokens of an image block.

    OpenAI: scaled into 2048×2048, then to a short side of 768, 85 + 170 for each tile of 512×512;
    85 with `detail: low`. Anthropic: scaled to a long side of 1568, pixels / 750. Google: 258 for
    each tile of 768×768, and 258 for a small image.
    """
    width, height = _size(block)
    if provider in ("anthropic", "bedrock"):
        scale = min(1.0, 1568 / max(width, height))
        return math.ceil(width * scale * height * scale / 750)
    if provider == "google":
        if max(width, height) <= 384:
            return 258
        return 258 * math.ceil(width / 768) * math.ceil(height / 768)
    given = block.get("image_url")
    if isinstance(given, Mapping) and given.get("detail") == "low":
        return 85
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
    return 85 + 170 * tiles


def _size(block: Mapping[str, Any]) -> tuple[int, int]:
    given: Any = block.get("image_url") or block.get("url") or ""
    address = given.get("url", "") if isinstance(given, Mapping) else given
    source = block.get("source")
    held: Mapping[str, Any] = source if isinstance(source, Mapping) else block
    data = str(held.get("base64") or held.get("data") or "")
    if isinstance(address, str) and address.startswith("data:"):
        data = address.partition(";base64,")[2]
    try:
        head = base64.b64decode(data[:_HEAD], validate=True)
        return size_of(head) or UNKNOWN
    except (binascii.Error, ValueError, struct.error):
        return UNKNOWN


def size_of(head: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF, WebP or JPEG, from its first bytes; None if not found."""
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        width, height = struct.unpack(">II", head[16:24])
    elif head.startswith(b"GIF8") and len(head) >= 10:
        width, height = struct.unpack("<HH", head[6:10])
    elif head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        width, height = _webp(head)
    elif head.startswith(b"\xff\xd8"):
        return _jpeg(head)
    else:
        return None
    return (width, height) if width and height else None


def _webp(head: bytes) -> tuple[int, int]:
    kind = head[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + ((bits >> 14) & 0x3FFF)
    width, height = struct.unpack("<HH", head[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(head: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(head) and head[place] == 0xFF:
        marker, length = head[place + 1], struct.unpack(">H", head[place + 2 : place + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return None
